#pragma once
// Difference of two tensors, or of a tensor and a number.

#include "autograd/ops/neg.h"

namespace minigpt {

// y = a - b, broadcast.        da = dy, db = -dy
inline Variable sub(const Variable& a, const Variable& b) {
  return record("sub", sub(a.value(), b.value()), {a, b}, save(), [](const Saved& s, const Variable& dy) {
    return Grads{dy, s.needs(1) ? -dy : Variable()};
  });
}

// y = x - c.        dx = dy
inline Variable sub(const Variable& x, double c) {
  return record("sub", sub(x.value(), c), {x}, save(),
                [](const Saved&, const Variable& dy) { return Grads{dy}; });
}

// y = c - x.        dx = -dy
inline Variable sub(double c, const Variable& x) {
  return record("sub", sub(c, x.value()), {x}, save(),
                [](const Saved&, const Variable& dy) { return Grads{-dy}; });
}

inline Variable operator-(const Variable& a, const Variable& b) { return sub(a, b); }
inline Variable operator-(const Variable& x, double c) { return sub(x, c); }
inline Variable operator-(double c, const Variable& x) { return sub(c, x); }

}  // namespace minigpt
