#include "autograd/ops/sigmoid.h"

#include "tests/autograd/gradient_testing.h"

namespace minigpt {
namespace {

TEST_CASE("sigmoid: values and gradients") {
  check_values(sigmoid(leaf({4})), leaf({4}), [](double x) { return 1 / (1 + std::exp(-x)); });
  check_elementwise([](const Variable& x) { return sigmoid(x); });
}

TEST_CASE("sigmoid: saturates at 0 and 1 with gradient 0; NaN stays NaN") {
  const Variable x(Tensor::from<double>({1000, -1000, HUGE_VAL, -HUGE_VAL}, {4}), true);
  CHECK(values(sigmoid(x)) == std::vector<double>{1, 0, 1, 0});
  CHECK(gradient_of(sigmoid(x), x) == std::vector<double>{0, 0, 0, 0});
  CHECK(std::isnan(sigmoid(Variable(Tensor::scalar(std::nan("")))).item()));
}

}  // namespace
}  // namespace minigpt
