#pragma once
// Self-attention without anything to learn: the idea alone.

#include "nn/attention/scaled_dot_product_attention.h"

namespace minigpt {

// weights = softmax(x x^T),   out = weights x.   x, out: (..., T, C)   weights: (..., T, T)
// Each word is scored against every word by their dot product, and becomes the mean of all words, weighted by how
// similar they are to it. Queries, keys and values are the words themselves, and nothing scales the scores.
// Raschka 2024, "Build a Large Language Model (From Scratch)", section 3.3.
inline Attention simplified_self_attention(const Variable& x) {
  return scaled_dot_product_attention(x, x, x, {.scale = 1.0});
}

}  // namespace minigpt
