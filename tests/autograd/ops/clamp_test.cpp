#include "autograd/ops/clamp.h"

#include "tests/autograd/gradient_testing.h"

namespace minigpt {
namespace {

TEST_CASE("clamp: gradient 1 inside and on the bounds, 0 outside") {
  const Variable x(Tensor::from<double>({-2, -1, 0, 1, 2}, {5}), true);
  CHECK(values(clamp(x, -1, 1)) == std::vector<double>{-1, -1, 0, 1, 1});
  CHECK(gradient_of(clamp(x, -1, 1), x) == std::vector<double>{0, 1, 1, 1, 0});
  check_elementwise([](const Variable& v) { return clamp(v, -1, 1); });
}

TEST_CASE("clamp: a missing or infinite bound leaves that side open") {
  const Variable x(Tensor::from<double>({-5, 5}, {2}), true);
  CHECK(values(clamp(x, -HUGE_VAL, 1)) == std::vector<double>{-5, 1});
  CHECK(gradient_of(clamp(x, -HUGE_VAL, 1), x) == std::vector<double>{1, 0});
  CHECK(gradient_of(clamp(x, std::nullopt, 1), x) == std::vector<double>{1, 0});
  CHECK(gradient_of(clamp(x, -1), x) == std::vector<double>{0, 1});
}

}  // namespace
}  // namespace minigpt
