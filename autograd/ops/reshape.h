#pragma once
// reshape, view and flatten: the same elements in row-major order under another shape.

#include "autograd/record.h"
#include "tensor/views.h"

namespace minigpt {

// y = x under another shape; one extent may be -1. Copies only if it must.
// dx = dy under the shape of x
inline Variable reshape(const Variable& x, const Shape& shape) {
  return record("reshape", reshape(x.value(), shape), {x}, save(),
                [](const Saved& s, const Variable& dy) { return Grads{reshape(dy, s.input_shape(0))}; });
}

// The same, but never copies: throws Error where the strides do not allow it.
// The gradient may arrive in any layout, so the way back is a reshape.
inline Variable view(const Variable& x, const Shape& shape) {
  return record("view", view(x.value(), shape), {x}, save(),
                [](const Saved& s, const Variable& dy) { return Grads{reshape(dy, s.input_shape(0))}; });
}

// y = x with axes first..last (inclusive) merged into one.        dx = dy under the shape of x
inline Variable flatten(const Variable& x, int first = 0, int last = -1) {
  return record("flatten", flatten(x.value(), first, last), {x}, save(),
                [](const Saved& s, const Variable& dy) { return Grads{reshape(dy, s.input_shape(0))}; });
}

}  // namespace minigpt
