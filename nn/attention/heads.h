#pragma once
// Heads: one wide vector per position seen as several narrow ones, and back.

#include "autograd/ops/reshape.h"
#include "autograd/ops/transpose.h"

namespace minigpt {

// (..., T, H * D) -> (..., H, T, D): head h gets columns h D .. (h + 1) D - 1. The heads become an axis like the batch,
// so that one product of matrices serves all of them.
// Vaswani et al. 2017, section 3.2.2. Throws Error if the width cannot be split.
inline Variable split_heads(const Variable& x, std::int64_t H) {
  check(x.rank() >= 2 && H >= 1 && x.dim(-1) % H == 0, "split_heads", "{} cannot be split into {} heads",
        x.shape(), H);
  Shape shape(x.shape().begin(), x.shape().end() - 1);
  shape.push_back(H);
  shape.push_back(x.dim(-1) / H);
  return transpose(reshape(x, shape), -3, -2);  // (..., T, H, D) -> (..., H, T, D)
}

// The way back: (..., H, T, D) -> (..., T, H * D).
inline Variable merge_heads(const Variable& x) { return flatten(transpose(x, -3, -2), -2, -1); }

}  // namespace minigpt
