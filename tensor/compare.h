#pragma once
// Comparisons, logic on the resulting bool tensors, and choosing elements by them.
//
// Shapes broadcast as in arithmetic.h, both operands hold the same type, and results are row-major.

#include <optional>

#include "tensor/tensor.h"

namespace minigpt {

// a < b, a <= b, a == b, a != b, a > b, a >= b for each element, as a bool tensor; any type. A NaN is unequal
// to everything, itself included. A scalar is converted to the tensor's type; for int32 it must be a whole
// number that fits, for bool 0 or 1.
Tensor lt(const Tensor& a, const Tensor& b);
Tensor lt(const Tensor& a, double b);
Tensor le(const Tensor& a, const Tensor& b);
Tensor le(const Tensor& a, double b);
Tensor eq(const Tensor& a, const Tensor& b);
Tensor eq(const Tensor& a, double b);
Tensor ne(const Tensor& a, const Tensor& b);
Tensor ne(const Tensor& a, double b);
Tensor gt(const Tensor& a, const Tensor& b);
Tensor gt(const Tensor& a, double b);
Tensor ge(const Tensor& a, const Tensor& b);
Tensor ge(const Tensor& a, double b);

// a && b, a || b, !a. Throw Error unless the operands are bool.
Tensor logical_and(const Tensor& a, const Tensor& b);
Tensor logical_or(const Tensor& a, const Tensor& b);
Tensor logical_not(const Tensor& a);

// x[i] is NaN; x[i] is neither NaN nor infinite. Throw Error unless x is float32 or float64. See all_finite
// in reduce.h for the whole tensor at once.
Tensor isnan(const Tensor& x);
Tensor isfinite(const Tensor& x);

// condition ? a : b for each element; all three broadcast. Throws Error unless condition is bool and a and b
// hold the same type.
Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b);
// x with `value` wherever the mask is true; mask and x broadcast. Throws Error unless mask is bool.
Tensor masked_fill(const Tensor& x, const Tensor& mask, double value);
// min(max(x, lo), hi) for each element, a missing bound being no bound. NaN stays NaN, and if lo > hi
// everything else becomes hi. Not for bool.
Tensor clamp(const Tensor& x, std::optional<double> lo, std::optional<double> hi = std::nullopt);

}  // namespace minigpt
