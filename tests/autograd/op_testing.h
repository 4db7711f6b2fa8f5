#pragma once
// What the tests of ops have in common: random inputs, and the questions every op must answer.

#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <vector>

#include "autograd/engine.h"
#include "autograd/gradcheck.h"
#include "autograd/variable.h"
#include "tensor/generator.h"
#include "tensor/reduce.h"
#include "tensor/views.h"

namespace minigpt::testing {

using Op = std::function<Variable(const std::vector<Variable>&)>;

// Normal numbers that depend on the seed alone.
inline Tensor random(const Shape& shape, std::uint64_t seed, DType dtype = DType::f64) {
  Generator rng(seed);
  std::vector<double> values(static_cast<std::size_t>(numel(shape)));
  rng.normal(std::span<double>(values));
  return Tensor::from<double>(values, shape).to(dtype);
}

inline Variable leaf(Tensor x) { return Variable(std::move(x), true); }
inline Variable leaf(const Shape& shape, std::uint64_t seed, DType dtype = DType::f64) {
  return leaf(random(shape, seed, dtype));
}

// The same numbers with the axes stored in the opposite order: not row-major unless rank < 2.
inline Tensor column_major(const Tensor& x) {
  Dims reversed;
  for (int i = x.rank() - 1; i >= 0; --i) reversed.push_back(i);
  return permute(permute(x, reversed).contiguous(), reversed);
}

// max |a - b|; infinite if shapes or types differ or a NaN stands on one side only.
inline double difference(const Tensor& a, const Tensor& b) {
  if (!a.defined() || !b.defined() || !(a.shape() == b.shape()) || a.dtype() != b.dtype()) return INFINITY;
  const auto x = a.to(DType::f64).to_vector<double>(), y = b.to(DType::f64).to_vector<double>();
  double worst = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (x[i] == y[i] || (std::isnan(x[i]) && std::isnan(y[i]))) continue;
    const double d = std::abs(x[i] - y[i]);
    worst = std::isnan(d) ? INFINITY : std::max(worst, d);
  }
  return worst;
}

// The value of an op and its gradients for an incoming gradient dy (made from the seed if undefined).
struct Outcome {
  Tensor value;
  std::vector<Tensor> gradients;  // of the inputs that require one, in order
};
inline Outcome outcome(const Op& op, const std::vector<Variable>& inputs, Tensor dy = Tensor(),
                       bool create_graph = false) {
  const Variable y = op(inputs);
  if (!dy.defined()) dy = random(y.shape(), 99, y.dtype());
  std::vector<Variable> wanted;
  for (const Variable& x : inputs)
    if (x.defined() && x.requires_grad()) wanted.push_back(x);
  GradOptions options;
  options.gradients = {Variable(dy)};
  options.create_graph = create_graph;
  Outcome out{y.value(), {}};
  for (const Variable& g : grad({y}, wanted, options)) out.gradients.push_back(g.value());
  return out;
}

// First and second derivatives agree with finite differences. Inputs are float64.
inline void check_derivatives(const Op& op, const std::vector<Variable>& inputs) {
  const GradcheckResult first = gradcheck(op, inputs), second = gradgradcheck(op, inputs);
  CHECK_MESSAGE(first.ok, first.str());
  CHECK_MESSAGE(second.ok, second.str());
}

// Two ways to compute the same thing: values and gradients differ by no more than `tolerance`.
inline void check_agree(const Op& a, const Op& b, const std::vector<Variable>& inputs,
                        double tolerance = 1e-12) {
  const Outcome x = outcome(a, inputs), y = outcome(b, inputs), recorded = outcome(a, inputs, Tensor(), true);
  CHECK(difference(x.value, y.value) <= tolerance);
  for (std::size_t i = 0; i < x.gradients.size(); ++i) {
    CHECK(difference(x.gradients[i], y.gradients[i]) <= tolerance);
    CHECK(difference(recorded.gradients[i], y.gradients[i]) <= tolerance);
  }
}

// O-03: inputs and incoming gradients in another memory layout change nothing.
inline void check_layouts(const Op& op, const std::vector<Variable>& inputs, double tolerance = 1e-12) {
  const Outcome plain = outcome(op, inputs);
  std::vector<Variable> other;
  for (const Variable& x : inputs)
    other.push_back(x.defined() ? Variable(column_major(x.value()), x.requires_grad()) : x);
  const Tensor dy = random(plain.value.shape(), 99, plain.value.dtype());
  const Outcome moved = outcome(op, other, column_major(dy));
  CHECK(difference(moved.value, plain.value) <= tolerance);
  for (std::size_t i = 0; i < plain.gradients.size(); ++i)
    CHECK(difference(moved.gradients[i], plain.gradients[i]) <= tolerance);
  // A gradient that is one number, repeated with strides of 0, as it arrives from sum().
  const Tensor repeated = expand(full({}, 0.5, dy.dtype()), dy.shape());
  const Outcome a = outcome(op, inputs, repeated), b = outcome(op, inputs, repeated.clone());
  for (std::size_t i = 0; i < a.gradients.size(); ++i)
    CHECK(difference(a.gradients[i], b.gradients[i]) <= tolerance);
}

}  // namespace minigpt::testing
