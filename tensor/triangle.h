#pragma once
// Triangles of matrices: what a causal mask is made of.

#include "tensor/tensor.h"

namespace minigpt {

// x (..., T, S) with everything above a diagonal set to 0: element (i, j) stays where j <= i + diagonal.
// diagonal 0 is the main one, positive ones lie above it. Any type. Throws Error below two dimensions.
Tensor tril(const Tensor& x, std::int64_t diagonal = 0);

// x (..., T, S) with everything below a diagonal set to 0: element (i, j) stays where j >= i + diagonal.
Tensor triu(const Tensor& x, std::int64_t diagonal = 0);

// The causal mask: bool (T, S), true where query i may look at key j, j <= i + diagonal.
// With S - T earlier keys in a cache, diagonal is S - T.
Tensor tril_mask(std::int64_t T, std::int64_t S, std::int64_t diagonal = 0);

}  // namespace minigpt
