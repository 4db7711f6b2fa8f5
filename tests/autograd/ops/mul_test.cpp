#include "autograd/ops/mul.h"

#include "tests/autograd/gradient_testing.h"

namespace minigpt {
namespace {

TEST_CASE("mul: products, broadcast (A-08)") {
  const Variable a = leaf({2, 3}), b = leaf({3}, -2, 2, 50);
  const std::vector<double> y = values(a * b), as = values(a), bs = values(b);
  for (std::size_t i = 0; i < y.size(); ++i) CHECK(y[i] == as[i] * bs[i % 3]);
  check_broadcasting([](const Variable& p, const Variable& q) { return p * q; });
}

TEST_CASE("mul: a number on either side") {
  check_values(3.0 * leaf({4}), leaf({4}), [](double x) { return 3 * x; });
  check_elementwise([](const Variable& x) { return 3.0 * (x * 2.0); });
}

TEST_CASE("mul: x * x has slope 2 x (A-08)") {
  const Variable x(Tensor::from<double>({1, -3}, {2}), true);
  CHECK(gradient_of(x * x, x) == std::vector<double>{2, -6});
}

}  // namespace
}  // namespace minigpt
