#pragma once
// Product, element by element.

#include "autograd/record.h"
#include "tensor/elementwise.h"

namespace minigpt {

Variable mul(const Variable& a, const Variable& b);
Variable mul(const Variable& x, double c);
inline Variable operator*(const Variable& a, const Variable& b) { return mul(a, b); }
inline Variable operator*(const Variable& x, double c) { return mul(x, c); }
inline Variable operator*(double c, const Variable& x) { return mul(x, c); }

namespace detail {

// dy * input i, dy * the output: without a detour over variables unless the product is recorded as well.
inline Variable times(const Variable& dy, const Saved& s, InputItem i) {
  return recording() ? dy * s.input(i.index) : Variable(mul(dy.value(), s.input_value(i.index)));
}
inline Variable times(const Variable& dy, const Saved& s, OutputItem) {
  return recording() ? dy * s.output() : Variable(mul(dy.value(), s.output_value()));
}

}  // namespace detail

// y = a * b, broadcast.        da = dy * b, db = dy * a
inline Variable mul(const Variable& a, const Variable& b) {
  return record("mul", mul(a.value(), b.value()), {a, b}, save(input(0), input(1)),
                [](const Saved& s, const Variable& dy) {
                  return Grads{s.needs(0) ? detail::times(dy, s, input(1)) : Variable(),
                               s.needs(1) ? detail::times(dy, s, input(0)) : Variable()};
                });
}

// y = c * x.        dx = c * dy
inline Variable mul(const Variable& x, double c) {
  return record("mul", mul(x.value(), c), {x}, save(),
                [c](const Saved&, const Variable& dy) { return Grads{dy * c}; });
}

}  // namespace minigpt
