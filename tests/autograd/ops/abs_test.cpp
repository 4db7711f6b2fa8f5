#include "autograd/ops/abs.h"

#include "tests/autograd/gradient_testing.h"

namespace minigpt {
namespace {

TEST_CASE("abs: slope is the sign, 0 at the kink") {
  const Variable x(Tensor::from<double>({-2, 0, 3}, {3}), true);
  CHECK(values(abs(x)) == std::vector<double>{2, 0, 3});
  CHECK(gradient_of(abs(x), x) == std::vector<double>{-1, 0, 1});
  check_elementwise([](const Variable& v) { return abs(v); });
}

}  // namespace
}  // namespace minigpt
