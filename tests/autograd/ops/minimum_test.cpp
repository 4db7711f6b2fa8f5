#include "autograd/ops/minimum.h"

#include "tests/autograd/gradient_testing.h"

namespace minigpt {
namespace {

TEST_CASE("minimum: the smaller operand gets the gradient, and both half of it where they tie") {
  const Variable a(Tensor::from<double>({1, 2, 3}, {3}), true), b(Tensor::from<double>({2, 2, 2}, {3}), true);
  CHECK(values(minimum(a, b)) == std::vector<double>{1, 2, 2});
  CHECK(gradient_of(minimum(a, b), a) == std::vector<double>{1, 0.5, 0});
  CHECK(gradient_of(minimum(a, b), b) == std::vector<double>{0, 0.5, 1});
  CHECK(gradient_of(minimum(a, a), a) == std::vector<double>{1, 1, 1});
}

TEST_CASE("minimum: gradients of broadcast operands") {
  check_broadcasting([](const Variable& p, const Variable& q) { return minimum(p, q); });
}

}  // namespace
}  // namespace minigpt
