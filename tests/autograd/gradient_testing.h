#pragma once
// Shared by the tests of small operations: numbers without pattern, and calls that check a backward in every
// situation.

#include <doctest/doctest.h>

#include <cmath>
#include <utility>
#include <vector>

#include "autograd/gradcheck.h"
#include "tensor/views.h"

namespace minigpt {

// Values in (lo, hi) that look random and are the same on every machine: the fractional parts of multiples of
// the golden ratio never come close to repeating.
inline Tensor spread(const Shape& shape, double lo = -2, double hi = 2, int start = 1) {
  std::vector<double> values(static_cast<std::size_t>(numel(shape)));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double turn = 0.6180339887498949 * (static_cast<double>(i) + start);
    values[i] = lo + (hi - lo) * (turn - std::floor(turn));
  }
  return Tensor::from<double>(values, shape);
}

// A float64 leaf with such values.
inline Variable leaf(const Shape& shape, double lo = -2, double hi = 2, int start = 1) {
  return Variable(spread(shape, lo, hi, start), true);
}

// A leaf whose last two axes lie in memory the other way round.
inline Variable transposed_leaf(const Shape& shape, double lo = -2, double hi = 2, int start = 1) {
  Shape stored = shape;
  std::swap(stored[shape.size() - 2], stored[shape.size() - 1]);
  const Variable x(transpose(spread(stored, lo, hi, start)), true);
  CHECK_FALSE(x.value().is_contiguous());
  return x;
}

inline std::vector<double> values(const Tensor& x) { return x.to(DType::f64).to_vector<double>(); }
inline std::vector<double> values(const Variable& x) { return values(x.value()); }

// d(sum of y * v)/dx for a leaf x, v all ones unless given.
inline std::vector<double> gradient_of(const Variable& y, Variable x, const Tensor& v = Tensor()) {
  x.zero_grad();
  BackwardOptions options;
  options.gradient = Variable(v.defined() ? v : ones_like(y.value()));
  y.backward(options);
  return values(x.grad());
}

// First and second derivatives agree with finite differences.
inline void check_gradients(const GradcheckFunction& f, const std::vector<Variable>& inputs) {
  const GradcheckResult first = gradcheck(f, inputs);
  CHECK_MESSAGE(first.ok, first.str());
  CHECK(first.checked > 0);
  const GradcheckResult second = gradgradcheck(f, inputs);
  CHECK_MESSAGE(second.ok, "second derivative: " << second.str());
}

// The same for a function of one variable, for a plain and for a transposed (2, 3) input with values in (lo,
// hi), and with a gradient that arrives transposed.
template <class Op>
void check_elementwise(const Op& op, double lo = -2, double hi = 2) {
  const GradcheckFunction f = [&op](const std::vector<Variable>& in) { return op(in[0]); };
  check_gradients(f, {leaf({2, 3}, lo, hi)});
  check_gradients(f, {transposed_leaf({2, 3}, lo, hi)});
  const Variable x = leaf({2, 3}, lo, hi);
  const Tensor dy = spread(op(x).shape());
  if (dy.rank() < 2) return;
  const Tensor moved = transpose(transpose(dy).contiguous());
  CHECK(gradient_of(op(x), x, dy) == gradient_of(op(x), x, moved));
}

// The same for a function of two, over every way in which shapes can broadcast; values of a in (a_lo, a_hi),
// of b in (b_lo, b_hi).
template <class Op>
void check_broadcasting(const Op& op, double a_lo = -2, double a_hi = 2, double b_lo = -2, double b_hi = 2) {
  const GradcheckFunction f = [&op](const std::vector<Variable>& in) { return op(in[0], in[1]); };
  const std::pair<Shape, Shape> cases[] = {{{2, 3}, {2, 3}},       {{1}, {5, 4}},   {{4, 1}, {1, 4}},
                                           {{3}, {2, 3}},          {{}, {2, 3, 4}}, {{2, 3, 4}, {}},
                                           {{1, 1, 5}, {2, 3, 1}}, {{}, {}}};
  for (const auto& pair : cases) {
    const Shape &a = pair.first, &b = pair.second;  // Clang 14 cannot capture structured bindings
    CAPTURE(a.str());
    CAPTURE(b.str());
    check_gradients(f, {leaf(a, a_lo, a_hi), leaf(b, b_lo, b_hi, 1000)});
  }
  check_gradients(f, {transposed_leaf({2, 3}, a_lo, a_hi), leaf({2, 3}, b_lo, b_hi, 1000)});
  // One operand alone.
  check_gradients(f, {leaf({2, 3}, a_lo, a_hi), Variable(spread({3}, b_lo, b_hi, 1000))});
  check_gradients(f, {Variable(spread({3}, a_lo, a_hi)), leaf({2, 3}, b_lo, b_hi, 1000)});
  CHECK_THROWS_WITH_AS(op(leaf({2, 3}), leaf({4})), doctest::Contains("(2, 3) and (4)"), Error);
}

// Every element of y equals expected(element of x) up to rounding.
template <class Expected>
void check_values(const Variable& y, const Variable& x, const Expected& expected) {
  const std::vector<double> ys = y.value().to_vector<double>(), xs = x.value().to_vector<double>();
  REQUIRE(ys.size() == xs.size());
  for (std::size_t i = 0; i < xs.size(); ++i) CHECK(ys[i] == doctest::Approx(expected(xs[i])).epsilon(1e-12));
}

}  // namespace minigpt
