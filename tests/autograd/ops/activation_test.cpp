#include "autograd/ops/activation.h"

#include <algorithm>

#include "tests/autograd/gradient_testing.h"

namespace minigpt {
namespace {

TEST_CASE("activate: every name stands for its formula") {
  const Variable x = leaf({9}, -3, 3);
  const auto sigmoid = [](double v) { return 1 / (1 + std::exp(-v)); };
  check_values(activate(x, Activation::none), x, [](double v) { return v; });
  check_values(activate(x, Activation::relu), x, [](double v) { return std::max(v, 0.0); });
  check_values(activate(x, Activation::relu_squared), x,
               [](double v) { return std::max(v, 0.0) * std::max(v, 0.0); });
  check_values(activate(x, Activation::silu), x, [&](double v) { return v * sigmoid(v); });
  check_values(activate(x, Activation::gelu_erf), x,
               [](double v) { return 0.5 * v * (1 + std::erf(v / std::sqrt(2.0))); });
  check_values(activate(x, Activation::gelu_tanh), x, [](double v) {
    return 0.5 * v * (1 + std::tanh(std::sqrt(2 / 3.14159265358979323846) * (v + 0.044715 * v * v * v)));
  });
}

TEST_CASE("activate: derivatives agree with finite differences") {
  for (const Activation f : {Activation::relu, Activation::relu_squared, Activation::silu,
                             Activation::gelu_erf, Activation::gelu_tanh})
    check_elementwise([f](const Variable& v) { return activate(v, f); });
}

}  // namespace
}  // namespace minigpt
