#include "autograd/ops/log.h"

#include "tests/autograd/gradient_testing.h"

namespace minigpt {
namespace {

TEST_CASE("log: values and gradients") {
  check_values(log(leaf({4}, 0.3, 3)), leaf({4}, 0.3, 3), [](double x) { return std::log(x); });
  check_elementwise([](const Variable& x) { return log(x); }, 0.3, 3);
}

}  // namespace
}  // namespace minigpt
