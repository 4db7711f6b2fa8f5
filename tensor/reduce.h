#pragma once
// Reductions: sums, means, extremes over some of a tensor's axes.
//
// `axes` lists the axes that disappear, in any order, negative ones counted from the end; an empty list means
// all of them. With keepdim they stay, with extent 1. Error names an axis that is out of range or given
// twice.
//
//   x: (2, 3, 4)    sum(x, {0, -1}): (3)    sum(x, {0, -1}, true): (1, 3, 1)    sum(x): ()
//
// The order of every sum is fixed by the shape alone, never by the number of threads. Float sums are
// accumulated in blocks that are added up in double: a sum of a million floats is good to about 1e-7 of the
// sum of their magnitudes.

#include "tensor/tensor.h"

namespace minigpt {

// Sum; 0 over an empty axis. int32 and bool are summed to int32; throws Error if the total does not fit.
Tensor sum(const Tensor& x, const Dims& axes = {}, bool keepdim = false);
// Sum divided by the number of elements; NaN over an empty axis. float32 and float64 only.
Tensor mean(const Tensor& x, const Dims& axes = {}, bool keepdim = false);
// Sum of (x - mean)^2 divided by n - correction; NaN or infinite if that is not positive, as in PyTorch.
// correction 1 estimates the variance of a population from a sample, 0 is the variance of the numbers
// themselves (LayerNorm).
Tensor var(const Tensor& x, const Dims& axes = {}, double correction = 1, bool keepdim = false);

// Largest, smallest element; NaN if there is one. float32, float64, int32. Throws Error over an empty axis.
Tensor max(const Tensor& x, const Dims& axes = {}, bool keepdim = false);
Tensor min(const Tensor& x, const Dims& axes = {}, bool keepdim = false);
// Where the largest element is, as int32: its row-major position among the axes reduced over (for one axis,
// the index along it). The first one if there are several; a NaN counts as largest. Throws Error over an
// empty axis.
Tensor argmax(const Tensor& x, const Dims& axes = {}, bool keepdim = false);
// max and argmax in one pass.
struct MaxAlong {
  Tensor values;
  Tensor indices;  // int32
};
MaxAlong max_along(const Tensor& x, int axis, bool keepdim = false);

// Undoes broadcasting: sums x over the axes along which a tensor of the given shape was repeated to get x's
// shape. This is the gradient of a broadcast operand. Throws Error if `shape` does not broadcast to x's
// shape.
//   x: (B, T, C)    sum_to(x, (C)) = sum(x, {0, 1})    sum_to(x, (T, 1)) = sum(x, {0, 2}), then reshaped
Tensor sum_to(const Tensor& x, const Shape& shape);

// Sum of x[i]^2 over the whole tensor, squared and added in double: float squares overflow above 1.8e19.
double sum_of_squares(const Tensor& x);
// True if no element is NaN or infinite; always true for int32 and bool.
bool all_finite(const Tensor& x);

}  // namespace minigpt
