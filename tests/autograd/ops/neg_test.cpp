#include "autograd/ops/neg.h"

#include "tests/autograd/gradient_testing.h"

namespace minigpt {
namespace {

TEST_CASE("neg: turns the sign of values and gradients") {
  check_values(-leaf({4}), leaf({4}), [](double x) { return -x; });
  check_elementwise([](const Variable& x) { return -x; });
}

}  // namespace
}  // namespace minigpt
