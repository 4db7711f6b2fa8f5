#pragma once
// The row-wise part of fused causal attention, on one block of query rows. See tensor/attention.h.

#include <stdint.h>

namespace minigpt {

// A block of `rows` queries, the first of which is number `first` of its sequence; row r may look at the keys
// 0 .. first + r. Scores are (rows, cols) with cols = first + rows: all keys that any row of the block may
// see. Entries of keys in the future of their row are not read, and results there are 0.
template <class T>
struct AttentionBlock {
  int64_t first, rows, cols;
  int64_t ld;  // elements from one row of scores (and of gradients) to the next
  T scale;     // of the scores, 1 / sqrt(D)

  // Dropout: keep bits of the first row start at bit number `bit`, those of each next row bit_step later.
  const uint32_t* words;  // null: no dropout
  int64_t bit, bit_step;
  T keep_scale;  // 1 / (1 - p)
  T* factors;    // room for cols + 32 numbers
};

template <class T>
struct AttentionKernels {
  // scores q.k (rows, cols) -> probabilities, after dropout, in place; stats: (rows, 2) = {maximum, log of
  // the sum}.
  void (*forward)(const AttentionBlock<T>& block, T* scores, T* stats);

  // scores q.k -> probabilities after dropout; dp (rows, cols), the gradient of those -> gradient of q.k.
  // delta: (rows), the dot product of each output row with its gradient.
  void (*backward)(const AttentionBlock<T>& block, T* scores, T* dp, const T* stats, const T* delta);

  // out[r] = sum_i a[r * ld + i] * b[r * ld + i] over n elements.
  void (*row_dots)(const T* a, const T* b, int64_t ld, int64_t rows, int64_t n, T* out);

  // Is no element of (rows, n) infinite or NaN?
  bool (*all_finite)(const T* x, int64_t ld, int64_t rows, int64_t n);
};

}  // namespace minigpt
