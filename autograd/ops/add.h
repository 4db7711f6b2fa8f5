#pragma once
// Sum of two tensors, or of a tensor and a number.

#include "autograd/record.h"
#include "tensor/elementwise.h"

namespace minigpt {

// y = a + b, broadcast.        da = dy, db = dy      (the engine sums them back to the shapes of a and b)
inline Variable add(const Variable& a, const Variable& b) {
  return record("add", add(a.value(), b.value()), {a, b}, save(), [](const Saved&, const Variable& dy) {
    return Grads{dy, dy};
  });
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
