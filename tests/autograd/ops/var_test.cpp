#include "autograd/ops/var.h"

#include "tests/autograd/gradient_testing.h"

namespace minigpt {
namespace {

// Every subset of the axes of a (2, 3, 4) tensor, also counted from the end and in reverse order.
const Dims kAxes[] = {{}, {0}, {1}, {2}, {-1}, {0, 1}, {1, 0}, {0, 2}, {1, 2}, {-1, -3}, {2, 1, 0}};

TEST_CASE("var: mean square distance from the mean") {
  const Variable x(Tensor::from<double>({1, 2, 6}, {3}), true);
  CHECK(var(x).item() == doctest::Approx(7));  // (4 + 1 + 9) / 2
  CHECK(var(x, {}, 0).item() == doctest::Approx(14.0 / 3));
  const std::vector<double> slope = gradient_of(var(x), x);  // x - mean
  CHECK(slope[0] == doctest::Approx(-2));
  CHECK(slope[1] == doctest::Approx(-1));
  CHECK(slope[2] == doctest::Approx(3));
}

TEST_CASE("var: every subset of the axes, with and without keepdim and correction") {
  for (const Dims& axes : kAxes)
    for (bool keepdim : {false, true})
      for (int correction : {0, 1}) {
        CAPTURE(axes.str());
        CAPTURE(keepdim);
        CAPTURE(correction);
        const auto f = [&](const std::vector<Variable>& in) { return var(in[0], axes, correction, keepdim); };
        check_gradients(f, {leaf({2, 3, 4})});
      }
  check_gradients([](const auto& in) { return var(in[0], {1}); }, {transposed_leaf({2, 3})});
}

}  // namespace
}  // namespace minigpt
