#include "autograd/ops/exp.h"

#include "tests/autograd/gradient_testing.h"

namespace minigpt {
namespace {

TEST_CASE("exp: values and gradients") {
  check_values(exp(leaf({4}, -2, 2)), leaf({4}, -2, 2), [](double x) { return std::exp(x); });
  check_elementwise([](const Variable& x) { return exp(x); }, -2, 2);
}

}  // namespace
}  // namespace minigpt
