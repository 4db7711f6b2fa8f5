#include "autograd/ops/mlp.h"

#include "tests/autograd/op_testing.h"

namespace minigpt {
namespace {

using namespace testing;

constexpr Activation kAll[] = {Activation::relu, Activation::relu_squared, Activation::silu,
                               Activation::gelu_erf, Activation::gelu_tanh};

struct Biases {
  bool first, second;
};
constexpr Biases kBiases[] = {{true, true}, {true, false}, {false, true}, {false, false}};

// mlp or mlp_composed of {x, W1, W2, b1 if present, b2 if present}.
template <class Op>
auto with_biases(Op op, Biases biases) {
  return [=](const std::vector<Variable>& v) {
    const Variable b1 = biases.first ? v[3] : Variable();
    const Variable b2 = biases.second ? v[biases.first ? 4 : 3] : Variable();
    return op(v[0], v[1], b1, v[2], b2);
  };
}

TEST_CASE("mlp: equals its composition, value and gradient, with and without biases") {
  for (const Activation f : kAll) {
    for (const Biases biases : kBiases) {
      const auto fused = with_biases([f](const auto& x, const auto& w1, const auto& b1, const auto& w2,
                                         const auto& b2) { return mlp(x, w1, b1, w2, b2, f); },
                                     biases);
      const auto composed = with_biases([f](const auto& x, const auto& w1, const auto& b1, const auto& w2,
                                            const auto& b2) { return mlp_composed(x, w1, b1, w2, b2, f); },
                                        biases);
      for (const Shape& shape : {Shape{2, 3, 4}, Shape{1, 4}, Shape{0, 4}}) {
        CAPTURE(shape.str());
        std::vector<Variable> in = {leaf(shape, 1), leaf({6, 4}, 2), leaf({5, 6}, 3)};
        if (biases.first) in.push_back(leaf({6}, 4));
        if (biases.second) in.push_back(leaf({5}, 5));
        check_agree(fused, composed, in);
        if (shape == Shape{2, 3, 4}) {
          check_derivatives(fused, in);
          check_layouts(fused, in);
        }
      }
    }
  }
}

// More rows than a task has (48) or the backward pass takes at a time (768), and a last part that is smaller.
TEST_CASE("mlp: many rows are computed in parts") {
  const auto fused = [](const std::vector<Variable>& v) {
    return mlp(v[0], v[1], v[2], v[3], v[4], Activation::gelu_erf);
  };
  const auto composed = [](const std::vector<Variable>& v) {
    return mlp_composed(v[0], v[1], v[2], v[3], v[4], Activation::gelu_erf);
  };
  for (std::int64_t rows : {47, 48, 49, 97, 767, 768, 769, 2000})
    check_agree(fused, composed,
                {leaf({rows, 3}, 1), leaf({4, 3}, 2), leaf({4}, 3), leaf({2, 4}, 4), leaf({2}, 5)});
}

TEST_CASE("mlp: extents, types and biases must fit") {
  const Variable x = leaf({3, 4}, 1), w1 = leaf({6, 4}, 2), w2 = leaf({5, 6}, 3), none;
  CHECK_THROWS_WITH_AS(mlp(x, w2, none, w2, none, Activation::relu),
                       "[mlp] inner dimensions differ: x (3, 4) and W1 (5, 6): 4 != 6", Error);
  CHECK_THROWS_WITH_AS(mlp(x, w1, none, w1, none, Activation::relu),
                       "[mlp] inner dimensions differ: W1 (6, 4) and W2 (6, 4): 6 != 4", Error);
  CHECK_THROWS_WITH_AS(mlp(x, w1, leaf({5}, 1), w2, none, Activation::relu),
                       "[mlp] b1 must be (6) float64, got (5) float64", Error);
  CHECK_THROWS_WITH_AS(mlp(x, w1, none, w2, none, Activation::none),
                       "[mlp] needs an activation: without one it is a single matrix product", Error);
}

}  // namespace
}  // namespace minigpt
