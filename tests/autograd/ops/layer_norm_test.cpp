#include "autograd/ops/layer_norm.h"

#include "tests/autograd/op_testing.h"

namespace minigpt {
namespace {

using namespace testing;

// v: x, and optionally weight and bias.
Op norm(double eps) {
  return [eps](const std::vector<Variable>& v) { return layer_norm(v[0], v[1], v[2], eps); };
}
Op composed(double eps) {
  return [eps](const std::vector<Variable>& v) { return layer_norm_composed(v[0], v[1], v[2], eps); };
}

TEST_CASE("layer_norm: rows come out with mean 0 and variance 1") {
  const Tensor y = layer_norm(Variable(random({3, 8}, 1) * 5.0 + 2.0), Variable(), Variable(), 0).value();
  for (int row = 0; row < 3; ++row) {
    double mean = 0, square = 0;
    for (int i = 0; i < 8; ++i) {
      mean += y.at({row, i}) / 8;
      square += y.at({row, i}) * y.at({row, i}) / 8;
    }
    CHECK(mean == doctest::Approx(0).epsilon(1e-12));
    CHECK(square == doctest::Approx(1).epsilon(1e-12));
  }
}

TEST_CASE("layer_norm: derivatives, layouts and composition, with and without weight and bias") {
  const Variable none;
  for (const Shape& shape : {Shape{5}, Shape{3, 5}, Shape{2, 3, 5}}) {
    CAPTURE(shape.str());
    const Variable x = leaf(shape, 1), w = leaf({5}, 2), b = leaf({5}, 3);
    for (const std::vector<Variable>& in :
         {std::vector<Variable>{x, w, b}, {x, w, none}, {x, none, b}, {x, none, none}}) {
      check_layouts(norm(1e-5), in);
      check_agree(norm(1e-5), composed(1e-5), in, 1e-10);
    }
    check_derivatives(norm(1e-5), {x, w, b});
  }
}

TEST_CASE("layer_norm: the bias alone may learn, also when the backward pass is recorded") {
  const std::vector<Variable> in = {Variable(random({3, 5}, 1)), Variable(random({5}, 2)), leaf({5}, 3)};
  for (bool create_graph : {false, true}) {
    const Outcome o = outcome(norm(1e-5), in, ones({3, 5}, DType::f64), create_graph);
    CHECK(difference(o.gradients[0], full({5}, 3, DType::f64)) == 0);
  }
}

TEST_CASE("layer_norm: several axes are normalised as one row") {
  const Variable x = leaf({2, 3, 4}, 1), w = leaf({3, 4}, 2), b = leaf({3, 4}, 3);
  const Variable y = layer_norm(x, {3, 4}, w, b, 1e-5);
  CHECK(difference(layer_norm(x, w, b, 1e-5).value(), y.value()) == 0);  // the weight says which axes
  const Variable flat = layer_norm(reshape(x, {2, 12}), reshape(w, {12}), reshape(b, {12}), 1e-5);
  CHECK(difference(reshape(flat, {2, 3, 4}).value(), y.value()) == 0);
  const Op op = [](const std::vector<Variable>& v) { return layer_norm(v[0], {3, 4}, v[1], v[2], 1e-5); };
  check_derivatives(op, {x, w, b});
  check_layouts(op, {x, w, b});
}

TEST_CASE("layer_norm: a constant row gives the bias and a finite gradient (N-06)") {
  const Tensor dy = random({1, 256}, 5, DType::f32);
  for (double constant : {1234.5, 1e10, 0.0}) {
    CAPTURE(constant);
    const Variable w = leaf({256}, 2, DType::f32), b = leaf({256}, 3, DType::f32);
    const Variable x(full({1, 256}, constant), true);
    const Outcome o = outcome(norm(1e-5), {x, w, b}, dy);
    CHECK(difference(reshape(o.value, {256}), b.value()) == 0);
    for (const Tensor& g : o.gradients) CHECK(all_finite(g));
  }
}

TEST_CASE("layer_norm: a row of width 1 passes no gradient to its input (N-06)") {
  const Outcome o = outcome(norm(1e-5), {leaf({4, 1}, 1), leaf({1}, 2), leaf({1}, 3)});
  CHECK(difference(o.gradients[0], zeros({4, 1}, DType::f64)) == 0);
}

TEST_CASE("layer_norm: shapes must fit exactly") {
  CHECK_THROWS_AS(layer_norm(leaf({2, 3}, 1), leaf({2}, 2), Variable()), Error);
  CHECK_THROWS_AS(layer_norm(leaf({2, 3}, 1), leaf({3}, 2), leaf({1}, 3)), Error);
  CHECK_THROWS_AS(layer_norm(leaf({2, 3}, 1), {4, 2, 3}, Variable(), Variable()), Error);
  CHECK_THROWS_AS(layer_norm(leaf({4, 2, 3}, 1), {2, 2}, Variable(), Variable()), Error);
  CHECK_THROWS_AS(layer_norm(leaf({4, 2, 3}, 1), {6}, Variable(), Variable()), Error);
  CHECK_THROWS_AS(layer_norm(leaf({2, 3}, 1), {}, Variable(), Variable()), Error);
  CHECK_THROWS_AS(layer_norm(leaf({}, 1), Variable(), Variable()), Error);
}

}  // namespace
}  // namespace minigpt
