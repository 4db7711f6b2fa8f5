#include "autograd/ops/add.h"

#include "tests/autograd/gradient_testing.h"

namespace minigpt {
namespace {

TEST_CASE("add: sums, broadcast, with gradient 1 for both (A-08)") {
  const Variable a = leaf({2, 3}), b = leaf({3}, -2, 2, 50);
  const std::vector<double> y = values(a + b), as = values(a), bs = values(b);
  for (std::size_t i = 0; i < y.size(); ++i) CHECK(y[i] == as[i] + bs[i % 3]);
  check_broadcasting([](const Variable& p, const Variable& q) { return p + q; });
}

TEST_CASE("add: a number on either side") {
  check_values(1.5 + leaf({4}) + 2.0, leaf({4}), [](double x) { return x + 3.5; });
  check_elementwise([](const Variable& x) { return 1.5 + (x + 2.0); });
}

TEST_CASE("add: the same tensor on both sides gets both gradients (A-08)") {
  const Variable x = leaf({3});
  CHECK(gradient_of(x + x, x) == std::vector<double>{2, 2, 2});
}

}  // namespace
}  // namespace minigpt
