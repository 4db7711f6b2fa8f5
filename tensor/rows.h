#pragma once
// Softmax and its logarithm over the last dimension. For another axis, move it to the end first (views.h).
//
// Tensors are (..., C), float32 or float64, in any layout; results are row-major. Everything here throws
// Error if there is no dimension, the type is not floating, or shapes that must agree differ.

#include "tensor/tensor.h"

namespace minigpt {

// Exponentials that add up to 1 along the last dimension.
//   y_j = exp(x_j - max x) / sum_k exp(x_k - max x)
// A row whose every entry is -inf (all masked) gives zeros instead of PyTorch's NaN, and no gradient. A row
// that holds NaN or +inf gives NaN, as in PyTorch: a real failure is not hidden.
Tensor softmax(const Tensor& x);

// Gradient of softmax from its result:  dx = y * (dy - sum(dy * y)).
Tensor softmax_backward(const Tensor& y, const Tensor& dy);

// log(softmax(x)) without the overflow of exp and without log(0).
//   y_j = (x_j - max x) - log(sum_k exp(x_k - max x))
// A row whose every entry is -inf stays -inf, and has no gradient.
Tensor log_softmax(const Tensor& x);

// Gradient of log_softmax from its result:  dx = dy - exp(y) * sum(dy).
Tensor log_softmax_backward(const Tensor& y, const Tensor& dy);

namespace detail {

// A tensor (..., C) seen as `count` contiguous rows of `length` = C elements.
struct Rows {
  Tensor tensor;
  std::int64_t count;
  std::int64_t length;
  // Rows per parallel chunk: some 16 thousand elements, worth about 10 microseconds.
  std::int64_t grain() const;
};
Rows rows_of(std::string_view op, const Tensor& x);

// Throws unless a and b agree in shape and type.
void check_same(std::string_view op, std::string_view name_a, const Tensor& a, std::string_view name_b,
                const Tensor& b);

}  // namespace detail

}  // namespace minigpt
