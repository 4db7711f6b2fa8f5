#pragma once
// Sum of two tensors, or of a tensor and a number.

#include "autograd/record.h"
#include "tensor/elementwise.h"

namespace minigpt {

namespace detail {

// The node of a sum that has been formed.
inline Variable record_add(const Variable& a, const Variable& b, Tensor sum) {
  return record("add", std::move(sum), {a, b}, save(), [](const Saved&, const Variable& dy) {
    return Grads{dy, dy};
  });
}

}  // namespace detail

// y = a + b, broadcast.        da = dy, db = dy      (the engine sums them back to the shapes of a and b)
inline Variable add(const Variable& a, const Variable& b) {
  return detail::record_add(a, b, add(a.value(), b.value()));
}

// y = x + c.        dx = dy
inline Variable add(const Variable& x, double c) {
  return record("add", add(x.value(), c), {x}, save(),
                [](const Saved&, const Variable& dy) { return Grads{dy}; });
}

inline Variable operator+(const Variable& a, const Variable& b) { return add(a, b); }
inline Variable operator+(const Variable& x, double c) { return add(x, c); }
inline Variable operator+(double c, const Variable& x) { return add(x, c); }

}  // namespace minigpt
