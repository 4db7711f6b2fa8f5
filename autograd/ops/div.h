#pragma once
// Quotient of two tensors, or of a tensor and a number.

#include "autograd/ops/mul.h"
#include "autograd/ops/neg.h"

namespace minigpt {

Variable div(const Variable& a, const Variable& b);
Variable div(const Variable& x, double c);
Variable div(double c, const Variable& x);
inline Variable operator/(const Variable& a, const Variable& b) { return div(a, b); }
inline Variable operator/(const Variable& x, double c) { return div(x, c); }
inline Variable operator/(double c, const Variable& x) { return div(c, x); }

// y = a / b, broadcast.        da = dy / b, db = -(dy / b) * y
inline Variable div(const Variable& a, const Variable& b) {
  return record("div", div(a.value(), b.value()), {a, b}, save(input(1), output()),
                [](const Saved& s, const Variable& dy) {
                  const Variable da = dy / s.input(1);
                  return Grads{da, s.needs(1) ? -da * s.output() : Variable()};
                });
}

// y = x / c.        dx = dy / c
inline Variable div(const Variable& x, double c) {
  return record("div", div(x.value(), c), {x}, save(),
                [c](const Saved&, const Variable& dy) { return Grads{dy / c}; });
}

// y = c / x.        dx = -dy * y / x
inline Variable div(double c, const Variable& x) {
  return record("div", div(c, x.value()), {x}, save(input(0), output()),
                [](const Saved& s, const Variable& dy) { return Grads{-dy * s.output() / s.input(0)}; });
}

}  // namespace minigpt
