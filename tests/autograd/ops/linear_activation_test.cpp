#include "autograd/ops/linear_activation.h"

#include "tests/autograd/op_testing.h"

namespace minigpt {
namespace {

using namespace testing;

constexpr Activation kAll[] = {Activation::none, Activation::relu,     Activation::relu_squared,
                               Activation::silu, Activation::gelu_erf, Activation::gelu_tanh};

TEST_CASE("linear_activation: equals its composition, value and gradient") {
  for (const Activation f : kAll) {
    const auto fused = [f](const std::vector<Variable>& v) {
      return linear_activation(v[0], v[1], v.size() > 2 ? v[2] : Variable(), f);
    };
    const auto composed = [f](const std::vector<Variable>& v) {
      return linear_activation_composed(v[0], v[1], v.size() > 2 ? v[2] : Variable(), f);
    };
    for (const Shape& shape : {Shape{4}, Shape{3, 4}, Shape{2, 3, 4}, Shape{0, 4}}) {
      CAPTURE(shape.str());
      const Variable x = leaf(shape, 1), w = leaf({5, 4}, 2), b = leaf({5}, 3);
      check_agree(fused, composed, {x, w, b});
      check_agree(fused, composed, {x, w});
    }
    const Variable x = leaf({3, 4}, 1), w = leaf({5, 4}, 2), b = leaf({5}, 3);
    check_derivatives(fused, {x, w, b});
    check_layouts(fused, {x, w, b});
  }
}

TEST_CASE("linear_activation: extents and types must fit") {
  const Variable x = leaf({3, 4}, 1), w = leaf({5, 3}, 2), narrow = leaf({4}, 3), fits = leaf({5, 4}, 2);
  CHECK_THROWS_WITH_AS(linear_activation(x, w, Variable(), Activation::relu),
                       "[linear] inner dimensions differ: x (3, 4) and weight (5, 3): 4 != 3", Error);
  CHECK_THROWS_WITH_AS(linear_activation(x, fits, narrow, Activation::relu),
                       "[linear] the bias must be (5) float64, got (4) float64", Error);
}

}  // namespace
}  // namespace minigpt
