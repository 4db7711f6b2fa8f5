#include "autograd/ops/sum.h"

#include "autograd/ops/mul.h"
#include "tests/autograd/gradient_testing.h"

namespace minigpt {
namespace {

// Every subset of the axes of a (2, 3, 4) tensor, also counted from the end and in reverse order.
const Dims kAxes[] = {{}, {0}, {1}, {2}, {-1}, {0, 1}, {1, 0}, {0, 2}, {1, 2}, {-1, -3}, {2, 1, 0}};

TEST_CASE("sum: totals, with gradient 1 everywhere") {
  const Variable x(Tensor::from<double>({1, 2, 3, 4, 5, 6}, {2, 3}), true);
  CHECK(sum(x).item() == 21);
  CHECK(values(sum(x, {0})) == std::vector<double>{5, 7, 9});
  CHECK(values(sum(x, {-1})) == std::vector<double>{6, 15});
  CHECK(sum(x, {1}, true).shape() == Shape{2, 1});
  CHECK(gradient_of(sum(x), x) == std::vector<double>(6, 1.0));
  CHECK(gradient_of(sum(x, {0}), x, Tensor::from<double>({1, 2, 3}, {3})) ==
        std::vector<double>{1, 2, 3, 1, 2, 3});
}

TEST_CASE("sum: every subset of the axes, with and without keepdim (A-09)") {
  for (const Dims& axes : kAxes)
    for (bool keepdim : {false, true}) {
      CAPTURE(axes.str());
      CAPTURE(keepdim);
      const auto f = [&](const std::vector<Variable>& in) { return sum(in[0] * in[0], axes, keepdim); };
      check_gradients(f, {leaf({2, 3, 4})});
      check_gradients(f, {transposed_leaf({2, 3, 4})});
    }
  check_gradients([](const auto& in) { return sum(in[0], {0}); }, {leaf({5})});
  check_gradients([](const auto& in) { return sum(in[0]); }, {leaf({})});
  CHECK_THROWS_AS(sum(leaf({2, 3}), {2}), Error);
  CHECK_THROWS_AS(sum(leaf({2, 3}), {0, -2}), Error);
}

}  // namespace
}  // namespace minigpt
