#include "tensor/kernels/attention.h"

#include <math.h>
#include <string.h>

#include "tensor/kernels/softmax_row.h"
#include "tensor/simd/math.h"

namespace minigpt::MINIGPT_ISA {

// What each group of four keep bits means as factors.
template <class T>
struct KeepTable {
  T factors[16][4];
  explicit KeepTable(T keep) {
    for (int bits = 0; bits < 16; ++bits)
      for (int k = 0; k < 4; ++k) factors[bits][k] = bits >> k & 1 ? keep : T(0);
  }
};

// Writes the factors of n keep bits that start at any bit; rounded up to 32, hence the room in `out`.
template <class T>
static void expand_bits(const KeepTable<T>& table, const uint32_t* words, int64_t bit, int64_t n, T* out) {
  const int shift = int(bit % 32);
  words += bit / 32;
  for (int64_t i = 0; i < n; i += 32, ++words) {
    uint32_t bits = words[0] >> shift;
    // The next word is only touched if it holds bits of this row: it may lie beyond the mask.
    if (n - i > 32 - shift) bits |= uint32_t(uint64_t(words[1]) << (32 - shift));
    for (int k = 0; k < 8; ++k) memcpy(out + i + 4 * k, table.factors[bits >> 4 * k & 15], 4 * sizeof(T));
  }
}

template <class T>
static void clear(T* row, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i) row[i] = 0;
}

// p = softmax(scale * s) over the keys a row may see, times the dropout factor; see AttentionBlock.
template <class T>
static void forward(const AttentionBlock<T>& block, T* scores, T* stats) {
  const AttentionBlock<T> b = block;
  const KeepTable<T> table(b.keep_scale);
  for (int64_t r = 0; r < b.rows; ++r, scores += b.ld, stats += 2) {
    const int64_t n = b.first + r + 1;
    const T shift =
        softmax_shift(row_max<T>(n, [&](int64_t i, auto lanes) { return lanes.load(scores + i) * b.scale; }));
    const double sum = row_sum<T>(n, [&](int64_t i, auto lanes, Vec<T>& total) {
      const Vec<T> e = exp(lanes.load(scores + i) * b.scale - shift);
      lanes.store(scores + i, e);
      total += lanes.only(e, T(0));
    });
    stats[0] = shift;
    stats[1] = sum == 0 ? T(0) : T(::log(sum));
    const Vec<T> normalise = softmax_scale<T>(sum);
    if (b.words) {
      expand_bits(table, b.words, b.bit + r * b.bit_step, n, b.factors);
      for_lanes<T>(n, [&](int64_t i, auto lanes) {
        lanes.store(scores + i, lanes.load(scores + i) * normalise * lanes.load(b.factors + i));
      });
    } else {
      for_lanes<T>(
          n, [&](int64_t i, auto lanes) { lanes.store(scores + i, lanes.load(scores + i) * normalise); });
    }
    clear(scores, n, b.cols);
  }
}

// With f the dropout factor of an entry (1 without dropout), in the notation of the paper:
//   p = exp(scale * s - lse),   ds = p * (dp * f - delta) * scale,   s <- p * f,   dp <- ds
template <class T>
static void backward(const AttentionBlock<T>& block, T* scores, T* dp, const T* stats, const T* delta) {
  const AttentionBlock<T> b = block;
  const KeepTable<T> table(b.keep_scale);
  for (int64_t r = 0; r < b.rows; ++r, scores += b.ld, dp += b.ld, stats += 2) {
    const int64_t n = b.first + r + 1;
    const Vec<T> shift = stats[0], log_sum = stats[1], d = delta[r];
    const auto probability = [&](int64_t i, auto lanes) {
      return exp((lanes.load(scores + i) * b.scale - shift) - log_sum);
    };
    if (b.words) {
      expand_bits(table, b.words, b.bit + r * b.bit_step, n, b.factors);
      for_lanes<T>(n, [&](int64_t i, auto lanes) {
        const Vec<T> p = probability(i, lanes), f = lanes.load(b.factors + i);
        lanes.store(scores + i, p * f);
        lanes.store(dp + i, p * (lanes.load(dp + i) * f - d) * b.scale);
      });
    } else {
      for_lanes<T>(n, [&](int64_t i, auto lanes) {
        const Vec<T> p = probability(i, lanes);
        lanes.store(scores + i, p);
        lanes.store(dp + i, p * (lanes.load(dp + i) - d) * b.scale);
      });
    }
    clear(scores, n, b.cols);
    clear(dp, n, b.cols);
  }
}

template <class T>
static void row_dots(const T* a, const T* b, int64_t ld, int64_t rows, int64_t n, T* out) {
  for (int64_t r = 0; r < rows; ++r, a += ld, b += ld)
    out[r] = T(row_sum<T>(n, [&](int64_t i, auto lanes, Vec<T>& total) {
      total = fma(lanes.load(a + i), lanes.load(b + i), total);
    }));
}

// x - x is 0 for every finite number and NaN for the others.
template <class T>
static bool all_finite(const T* x, int64_t ld, int64_t rows, int64_t n) {
  Vec<T> difference = T(0);
  for (int64_t r = 0; r < rows; ++r, x += ld)
    for_lanes<T>(n, [&](int64_t i, auto lanes) {
      const Vec<T> v = lanes.load(x + i);
      difference += v - v;
    });
  return !any(is_nan(difference));
}

template <class T>
static void bind_attention(AttentionKernels<T>& k) {
  k.forward = forward<T>;
  k.backward = backward<T>;
  k.row_dots = row_dots<T>;
  k.all_finite = all_finite<T>;
}

void bind(AttentionKernels<float>& k) { bind_attention(k); }
void bind(AttentionKernels<double>& k) { bind_attention(k); }

}  // namespace minigpt::MINIGPT_ISA
