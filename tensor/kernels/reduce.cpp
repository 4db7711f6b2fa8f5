// Compiled once per instruction set. reduce.h says what each kernel computes.
#include "tensor/kernels/reduce.h"

#include "tensor/kernels/row_loops.h"

namespace minigpt::MINIGPT_ISA {
namespace {

template <class T>
double sum(const T* x, int64_t n) {
  return row_sum<T>(n, [=](int64_t i, auto lanes, Vec<T>& total) { total += lanes.load(x + i); });
}

template <class T>
double sum_squared_deviations(const T* x, T center, int64_t n) {
  const Vec<T> c = center;
  return row_sum<T>(n, [=](int64_t i, auto lanes, Vec<T>& total) {
    const Vec<T> d = lanes.only(lanes.load(x + i) - c, Vec<T>(T(0)));
    total = fma(d, d, total);
  });
}

// Vec does not convert between formats; sixteen running sums in a plain loop are what the compiler turns into
// registers of doubles by itself, in the same order on every instruction set.
template <class T>
double sum_of_squares(const T* x, int64_t n) {
  constexpr int kSums = 16;
  double sums[kSums] = {};
  int64_t i = 0;
  for (; i + kSums <= n; i += kSums)
    for (int k = 0; k < kSums; ++k) sums[k] += double(x[i + k]) * double(x[i + k]);
  for (int k = 0; i + k < n; ++k) sums[k] += double(x[i + k]) * double(x[i + k]);
  for (int half = kSums / 2; half > 0; half /= 2)
    for (int k = 0; k < half; ++k) sums[k] += sums[k + half];
  return sums[0];
}

// Vec's max and min return their second operand when either is NaN, so only a NaN in the first needs care.
struct Larger {
  template <class V>
  V operator()(V a, V b) const {
    return select(is_nan(a), a, max(a, b));
  }
};
struct Smaller {
  template <class V>
  V operator()(V a, V b) const {
    return select(is_nan(a), a, min(a, b));
  }
};

// The extreme of a row. Every lane starts with the first element, which also fills the lanes beyond the end.
template <class T, class Op>
T extreme(const T* x, int64_t n) {
  using V = Vec<T>;
  constexpr int kWidth = V::kWidth;
  const Op op;
  const V first = *x;
  V even = first;
  V odd = first;
  int64_t i = 0;
  for (; i + 2 * kWidth <= n; i += 2 * kWidth) {
    even = op(even, V::load(x + i));
    odd = op(odd, V::load(x + i + kWidth));
  }
  for_lanes<T>(n - i,
               [&](int64_t j, auto lanes) { even = op(even, lanes.only(lanes.load(x + i + j), first)); });
  T lane[kWidth];
  op(even, odd).store(lane);
  V best = lane[0];
  for (int k = 1; k < kWidth; ++k) best = op(best, V(lane[k]));
  best.store(lane);
  return lane[0];
}

template <class T>
int64_t find(const T* x, T value, int64_t n) {
  using V = Vec<T>;
  const bool nan = value != value;
  const V wanted = value;
  int64_t i = 0;
  for (; i + V::kWidth <= n; i += V::kWidth) {
    const V v = V::load(x + i);
    if (any(nan ? is_nan(v) : v == wanted)) break;
  }
  while (i < n && !(nan ? x[i] != x[i] : x[i] == value)) ++i;
  return i;
}

// The sums of kVectors neighbouring vectors of columns. 64 rows are summed in registers, and those in double.
template <int kVectors, class T, class Lanes>
void sum_block(const T* x, int64_t rows, int64_t stride, double divisor, T* out, Lanes lanes) {
  using V = Vec<T>;
  constexpr int kWidth = V::kWidth;
  constexpr int64_t kRows = 64;
  double total[kVectors * kWidth] = {};
  T part[kVectors * kWidth];
  for (int64_t start = 0; start < rows; start += kRows) {
    const int64_t end = rows - start < kRows ? rows : start + kRows;
    V sums[kVectors];
    for (int k = 0; k < kVectors; ++k) sums[k] = V(T(0));
    for (int64_t r = start; r < end; ++r)
      for (int k = 0; k < kVectors; ++k) sums[k] += lanes.load(x + r * stride + k * kWidth);
    for (int k = 0; k < kVectors; ++k) sums[k].store(part + k * kWidth);
    for (int j = 0; j < kVectors * kWidth; ++j) total[j] += double(part[j]);
  }
  for (int j = 0; j < kVectors * kWidth; ++j) part[j] = T(total[j] / divisor);
  for (int k = 0; k < kVectors; ++k) lanes.store(out + k * kWidth, V::load(part + k * kWidth));
}

template <class T>
void sum_columns(const T* x, int64_t rows, int64_t stride, double divisor, T* out, int64_t columns) {
  // Eight accumulators: two cache lines or more of each row are used up at once, and half the registers stay
  // free.
  constexpr int kVectors = 8;
  constexpr int64_t kBlock = kVectors * Vec<T>::kWidth;
  int64_t j = 0;
  for (; j + kBlock <= columns; j += kBlock)
    sum_block<kVectors>(x + j, rows, stride, divisor, out + j, Whole<T>{});
  for_lanes<T>(columns - j, [&](int64_t i, auto lanes) {
    sum_block<1>(x + j + i, rows, stride, divisor, out + j + i, lanes);
  });
}

// x * 0 is 0 for every finite x and NaN for the others, and a sum that has met a NaN stays NaN.
template <class T>
bool all_finite(const T* x, int64_t n) {
  constexpr int64_t kBlock = 4096;  // stop early: a diverged model is mostly NaN
  for (int64_t start = 0; start < n; start += kBlock) {
    const int64_t count = n - start < kBlock ? n - start : kBlock;
    Vec<T> zero = T(0);
    for_lanes<T>(count,
                 [&](int64_t i, auto lanes) { zero = fma(lanes.load(x + start + i), Vec<T>(T(0)), zero); });
    if (any(is_nan(zero))) return false;
  }
  return true;
}

template <class T>
void bind_all(ReduceKernels<T>& k) {
  k.sum = sum<T>;
  k.sum_squared_deviations = sum_squared_deviations<T>;
  k.sum_of_squares = sum_of_squares<T>;
  k.max = extreme<T, Larger>;
  k.min = extreme<T, Smaller>;
  k.find = find<T>;
  k.sum_columns = sum_columns<T>;
  k.all_finite = all_finite<T>;
}

}  // namespace

void bind(ReduceKernels<float>& k) { bind_all(k); }
void bind(ReduceKernels<double>& k) { bind_all(k); }

}  // namespace minigpt::MINIGPT_ISA
