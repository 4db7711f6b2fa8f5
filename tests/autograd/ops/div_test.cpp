#include "autograd/ops/div.h"

#include "tests/autograd/gradient_testing.h"

namespace minigpt {
namespace {

TEST_CASE("div: quotients, broadcast (A-08)") {
  const Variable a = leaf({2, 3}), b = leaf({3}, 1, 2, 50);
  const std::vector<double> y = values(a / b), as = values(a), bs = values(b);
  for (std::size_t i = 0; i < y.size(); ++i) CHECK(y[i] == as[i] / bs[i % 3]);
  check_broadcasting([](const Variable& p, const Variable& q) { return p / q; }, -2, 2, 0.5, 2);
}

TEST_CASE("div: by a number, and a number by a tensor") {
  check_values(leaf({4}) / 4.0, leaf({4}), [](double x) { return x / 4; });
  check_values(3.0 / leaf({4}, 1, 2), leaf({4}, 1, 2), [](double x) { return 3 / x; });
  check_elementwise([](const Variable& x) { return x / 4.0; });
  check_elementwise([](const Variable& x) { return 3.0 / x; }, 0.5, 2);
}

TEST_CASE("div: x / x is flat (A-08)") {
  const Variable x = leaf({3}, 1, 2);
  CHECK(values(x / x) == std::vector<double>{1, 1, 1});
  for (const double slope : gradient_of(x / x, x)) CHECK(std::abs(slope) < 1e-15);
}

TEST_CASE("div: 6 / x at 2 has slope -1.5") {
  const Variable x(Tensor::scalar(2.0), true);
  CHECK(gradient_of(6.0 / x, x) == std::vector<double>{-1.5});
}

}  // namespace
}  // namespace minigpt
