#include "autograd/ops/tanh.h"

#include "tests/autograd/gradient_testing.h"

namespace minigpt {
namespace {

TEST_CASE("tanh: values and gradients") {
  check_values(tanh(leaf({4}, -2, 2)), leaf({4}, -2, 2), [](double x) { return std::tanh(x); });
  check_elementwise([](const Variable& x) { return tanh(x); }, -2, 2);
}

TEST_CASE("tanh: saturates at +-1 with gradient 0; NaN stays NaN") {
  const Variable x(Tensor::from<double>({1000, -1000, HUGE_VAL, -HUGE_VAL}, {4}), true);
  CHECK(values(tanh(x)) == std::vector<double>{1, -1, 1, -1});
  CHECK(gradient_of(tanh(x), x) == std::vector<double>{0, 0, 0, 0});
  CHECK(std::isnan(tanh(Variable(Tensor::scalar(std::nan("")))).item()));
}

}  // namespace
}  // namespace minigpt
