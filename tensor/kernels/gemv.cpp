#include "tensor/kernels/gemv.h"

#include "tensor/simd/unroll.h"
#include "tensor/simd/vec.h"

namespace minigpt::MINIGPT_ISA {
namespace {

// Each element of W is used once per vector, so reading W is all that costs. Two things matter: enough loads and sums
// under way at once, and few instructions beside them.

inline Vec<float> load_weights(const float* p) { return Vec<float>::load(p); }
inline Vec<float> load_weights(const float* p, int64_t n) { return Vec<float>::load_n(p, n); }
inline Vec<double> load_weights(const double* p) { return Vec<double>::load(p); }
inline Vec<double> load_weights(const double* p, int64_t n) { return Vec<double>::load_n(p, n); }
inline Vec<float> load_weights(const uint16_t* p) { return Vec<float>::load_bf16(p); }
inline Vec<float> load_weights(const uint16_t* p, int64_t n) { return Vec<float>::load_bf16_n(p, n); }

// The sums over the lanes of W vectors, as one vector. Transposed, lane i of all of them lies in r[i], and the halves are
// folded as in reduce_sum: the same additions, W at a time.
template <class T>
inline Vec<T> reduce_sums(Vec<T>* r) {
  Vec<T>::transpose(r);
  for (int half = Vec<T>::kWidth / 2; half > 0; half /= 2)
    for (int i = 0; i < half; ++i) r[i] += r[i + half];
  return r[0];
}

// y[r][j] for kRows vectors x and kOutputs rows of W, whose sums all stay in registers.
template <int kRows, int kOutputs, class T, class W>
inline void tile(const GemvBlock<T>& g, int64_t row, int64_t j, const W* weights) {
  using V = Vec<T>;
  constexpr int kSums = kRows * kOutputs;
  V sum[kSums];  // of row r and output i: r * kOutputs + i
  unroll<kSums>([&](auto i) { sum[i] = T(0); });
  const T* x = g.x + row * g.k;
  const W* w = weights + j * g.k;
  const auto add = [&](int64_t p, auto load_x, auto load_w) {
    V values[kRows];
    unroll<kRows>([&](auto r) { values[r] = load_x(x + r * g.k + p); });
    unroll<kOutputs>([&](auto i) {
      const V weight = load_w(w + i * g.k + p);
      unroll<kRows>([&](auto r) { sum[r * kOutputs + i] = fma(values[r], weight, sum[r * kOutputs + i]); });
    });
  };
  // From main memory: the tile's rows are too short for the hardware to see where they lead. Each step fetches as many
  // bytes of the next tile, which lies right behind, as it uses of this one.
  constexpr int64_t kLine = 64, kStepBytes = int64_t(kOutputs) * V::kWidth * sizeof(W);
  const char* next = reinterpret_cast<const char*>(w + kOutputs * g.k);
  int64_t p = 0;
  for (; p + V::kWidth <= g.k; p += V::kWidth, next += kStepBytes) {
    if constexpr (kStepBytes >= kLine)
      if (g.far) unroll<kStepBytes / kLine>([&](auto i) { __builtin_prefetch(next + i * kLine); });
    add(
        p, [](const T* q) { return V::load(q); }, [](const W* q) { return load_weights(q); });
  }
  if (const int64_t left = g.k - p; left > 0)
    add(
        p, [&](const T* q) { return V::load_n(q, left); }, [&](const W* q) { return load_weights(q, left); });

  T total[kSums];
  if constexpr (kSums % V::kWidth == 0 && V::kWidth > 1) {
    unroll<kSums / V::kWidth>(
        [&](auto part) { reduce_sums<T>(sum + part * V::kWidth).store(total + part * V::kWidth); });
  } else {
    unroll<kSums>([&](auto i) { total[i] = reduce_sum(sum[i]); });
  }
  for (int r = 0; r < kRows; ++r) {
    T* y = g.y + (row + r) * g.y_step + j;
    for (int i = 0; i < kOutputs; ++i) {
      const T value = g.bias ? total[r * kOutputs + i] + g.bias[j + i] : total[r * kOutputs + i];
      y[i] = g.accumulate ? y[i] + value : value;
    }
  }
}

// Sums under way at once: 8 hide the latency of an addition (4 cycles, two a cycle) and leave room for x and W among the
// 16 registers of AVX2. With AVX-512 there are twice as many registers, and 16 sums are one transposition.
template <class T>
inline constexpr int kSumsAtOnce = Vec<T>::kWidth > 8 ? Vec<T>::kWidth : 8;

// Outputs [j, j + kSumsAtOnce) of kRows rows.
template <int kRows, class T, class W>
inline void block_of_outputs(const GemvBlock<T>& g, int64_t row, int64_t j, const W* w) {
  constexpr int kOutputs = kSumsAtOnce<T> / kRows;
  for (int i = 0; i < kSumsAtOnce<T>; i += kOutputs) tile<kRows, kOutputs>(g, row, j + i, w);
}

// All rows pass over a few rows of W while these are in the L1 cache.
template <class T, class W>
void gemv(const GemvBlock<T>& g, const W* w) {
  int64_t j = 0;
  for (; j + kSumsAtOnce<T> <= g.n; j += kSumsAtOnce<T>) {
    int64_t row = 0;
    for (; row + 4 <= g.rows; row += 4) block_of_outputs<4>(g, row, j, w);
    for (; row + 2 <= g.rows; row += 2) block_of_outputs<2>(g, row, j, w);
    if (row < g.rows) block_of_outputs<1>(g, row, j, w);
  }
  for (; j < g.n; ++j)
    for (int64_t row = 0; row < g.rows; ++row) tile<1, 1>(g, row, j, w);
}

}  // namespace

void bind(GemvKernels<float>& k) {
  k.full = gemv<float, float>;
  k.bf16 = gemv<float, uint16_t>;
}

void bind(GemvKernels<double>& k) {
  k.full = gemv<double, double>;
  k.bf16 = nullptr;
}

}  // namespace minigpt::MINIGPT_ISA
