#pragma once
// Sum over axes.

#include "autograd/ops/expand.h"
#include "autograd/ops/reshape.h"
#include "tensor/reduce.h"

namespace minigpt {

namespace detail {

// `shape` with its reduced axes as extents of 1: what keepdim gives.
inline Shape kept_shape(Shape shape, const Dims& axes) {
  for (std::int64_t axis : normalize_axes("sum", axes, shape.size())) shape[static_cast<int>(axis)] = 1;
  return shape;
}

// A reduced value given back to everything it was made of.
inline Variable unreduce(const Variable& y, const Shape& shape, const Dims& axes) {
  return expand(reshape(y, kept_shape(shape, axes)), shape);
}

}  // namespace detail

// y = sum of x over `axes` (all if none are named); keepdim leaves them as extents of 1.
// dx = dy, repeated
inline Variable sum(const Variable& x, const Dims& axes = {}, bool keepdim = false) {
  return record("sum", sum(x.value(), axes, keepdim), {x}, save(),
                [axes](const Saved& s, const Variable& dy) {
                  return Grads{detail::unreduce(dy, s.input_shape(0), axes)};
                });
}

}  // namespace minigpt
