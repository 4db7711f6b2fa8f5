#include "autograd/ops/mean.h"

#include "autograd/ops/mul.h"
#include "tests/autograd/gradient_testing.h"

namespace minigpt {
namespace {

// Every subset of the axes of a (2, 3, 4) tensor, also counted from the end and in reverse order.
const Dims kAxes[] = {{}, {0}, {1}, {2}, {-1}, {0, 1}, {1, 0}, {0, 2}, {1, 2}, {-1, -3}, {2, 1, 0}};

TEST_CASE("mean: over axes 1 and 2 of (2, 3, 4) the gradient is 1/12 everywhere") {
  const Variable x = leaf({2, 3, 4});
  for (double slope : gradient_of(mean(x, {1, 2}), x))
    CHECK(slope == doctest::Approx(1.0 / 12).epsilon(1e-15));
  CHECK(mean(Variable(Tensor::from<double>({1, 2, 6}, {3}))).item() == 3);
}

TEST_CASE("mean: every subset of the axes, with and without keepdim") {
  for (const Dims& axes : kAxes)
    for (bool keepdim : {false, true}) {
      CAPTURE(axes.str());
      CAPTURE(keepdim);
      const auto f = [&](const std::vector<Variable>& in) { return mean(in[0] * in[0], axes, keepdim); };
      check_gradients(f, {leaf({2, 3, 4})});
      check_gradients(f, {transposed_leaf({2, 3, 4})});
    }
  check_gradients([](const auto& in) { return mean(in[0], {0}); }, {leaf({5})});
  check_gradients([](const auto& in) { return mean(in[0]); }, {leaf({})});
  CHECK_THROWS_AS(mean(leaf({2, 3}), {2}), Error);
  CHECK_THROWS_AS(mean(leaf({2, 3}), {0, -2}), Error);
}

}  // namespace
}  // namespace minigpt
