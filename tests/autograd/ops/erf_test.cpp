#include "autograd/ops/erf.h"

#include "tests/autograd/gradient_testing.h"

namespace minigpt {
namespace {

TEST_CASE("erf: values and gradients") {
  check_values(erf(leaf({4})), leaf({4}), [](double x) { return std::erf(x); });
  check_elementwise([](const Variable& x) { return erf(x); });
}

}  // namespace
}  // namespace minigpt
