#include "autograd/ops/sub.h"

#include "tests/autograd/gradient_testing.h"

namespace minigpt {
namespace {

TEST_CASE("sub: differences, broadcast (A-08)") {
  const Variable a = leaf({2, 3}), b = leaf({3}, -2, 2, 50);
  const std::vector<double> y = values(a - b), as = values(a), bs = values(b);
  for (std::size_t i = 0; i < y.size(); ++i) CHECK(y[i] == as[i] - bs[i % 3]);
  check_broadcasting([](const Variable& p, const Variable& q) { return p - q; });
}

TEST_CASE("sub: a number on either side") {
  check_values(leaf({4}) - 2.0, leaf({4}), [](double x) { return x - 2; });
  check_values(2.0 - leaf({4}), leaf({4}), [](double x) { return 2 - x; });
  check_elementwise([](const Variable& x) { return x - 2.0; });
  check_elementwise([](const Variable& x) { return 2.0 - x; });
}

TEST_CASE("sub: x - x is flat (A-08)") {
  const Variable x = leaf({3});
  CHECK(gradient_of(x - x, x) == std::vector<double>{0, 0, 0});
}

}  // namespace
}  // namespace minigpt
