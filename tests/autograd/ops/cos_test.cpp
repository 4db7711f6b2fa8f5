#include "autograd/ops/cos.h"

#include "tests/autograd/gradient_testing.h"

namespace minigpt {
namespace {

TEST_CASE("cos: values and gradients") {
  check_values(cos(leaf({4}, -6, 6)), leaf({4}, -6, 6), [](double x) { return std::cos(x); });
  check_elementwise([](const Variable& x) { return cos(x); }, -6, 6);
}

}  // namespace
}  // namespace minigpt
