#include "autograd/ops/sqrt.h"

#include "tests/autograd/gradient_testing.h"

namespace minigpt {
namespace {

TEST_CASE("sqrt: values and gradients") {
  check_values(sqrt(leaf({4}, 0.3, 3)), leaf({4}, 0.3, 3), [](double x) { return std::sqrt(x); });
  check_elementwise([](const Variable& x) { return sqrt(x); }, 0.3, 3);
}

TEST_CASE("sqrt: the slope at 0 is infinite") {
  const Variable x(Tensor::from<double>({0, 4}, {2}), true);
  CHECK(gradient_of(sqrt(x), x) == std::vector<double>{HUGE_VAL, 0.25});
}

}  // namespace
}  // namespace minigpt
