#pragma once
// Attention of one new position to all that came before it, on one head. See nn/attention/kv_cache.h.

#include <stdint.h>

namespace minigpt {

// Keys lie in groups of kKeyGroup positions, transposed: component d of the group's position i is at [d][i]. Scores of a
// whole group are then sums of whole vectors, and the keys are read as one stream. Two AVX2 vectors, one of AVX-512.
inline constexpr int64_t kKeyGroup = 16;

template <class T>
struct DecodeAttentionKernels {
  // s_t = scale * q . k_t over t < length;   p = softmax(s);   out = sum_t p_t v_t
  // q, out: (d)   keys: (ceil(length / kKeyGroup), d, kKeyGroup)   values: (length, d)
  // scores: room for length, rounded up to whole groups
  void (*attend)(const T* q, const T* keys, const T* values, int64_t length, int64_t d, T scale, T* scores,
                 T* out);
};

}  // namespace minigpt
