#include "autograd/ops/maximum.h"

#include "tests/autograd/gradient_testing.h"

namespace minigpt {
namespace {

TEST_CASE("maximum: the larger operand gets the gradient, and both half of it where they tie") {
  const Variable a(Tensor::from<double>({1, 2, 3}, {3}), true), b(Tensor::from<double>({2, 2, 2}, {3}), true);
  CHECK(values(maximum(a, b)) == std::vector<double>{2, 2, 3});
  CHECK(gradient_of(maximum(a, b), a) == std::vector<double>{0, 0.5, 1});
  CHECK(gradient_of(maximum(a, b), b) == std::vector<double>{1, 0.5, 0});
  CHECK(gradient_of(maximum(a, a), a) == std::vector<double>{1, 1, 1});
}

TEST_CASE("maximum: gradients of broadcast operands (A-08)") {
  check_broadcasting([](const Variable& p, const Variable& q) { return maximum(p, q); });
}

}  // namespace
}  // namespace minigpt
