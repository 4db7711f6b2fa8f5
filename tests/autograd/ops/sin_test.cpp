#include "autograd/ops/sin.h"

#include "tests/autograd/gradient_testing.h"

namespace minigpt {
namespace {

TEST_CASE("sin: values and gradients") {
  check_values(sin(leaf({4}, -6, 6)), leaf({4}, -6, 6), [](double x) { return std::sin(x); });
  check_elementwise([](const Variable& x) { return sin(x); }, -6, 6);
}

}  // namespace
}  // namespace minigpt
