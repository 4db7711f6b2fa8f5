#include "autograd/ops/pow.h"

#include "tests/autograd/gradient_testing.h"

namespace minigpt {
namespace {

TEST_CASE("pow: x^p for whole, broken and negative exponents") {
  for (double p : {2.0, 3.0, 0.5, -1.0, -2.5, 1.0}) {
    CAPTURE(p);
    check_values(pow(leaf({4}, 0.5, 2), p), leaf({4}, 0.5, 2), [p](double x) { return std::pow(x, p); });
    check_elementwise([p](const Variable& x) { return pow(x, p); }, 0.5, 2);
  }
  check_elementwise([](const Variable& x) { return pow(x, 3); });  // negative bases too
}

TEST_CASE("pow: exponent 0 gives 1 with gradient exactly 0, and exponent 1 gradient 1, also at x = 0") {
  const Variable x(Tensor::from<double>({0, -1, 2}, {3}), true);
  CHECK(values(pow(x, 0)) == std::vector<double>{1, 1, 1});
  CHECK(gradient_of(pow(x, 0), x) == std::vector<double>{0, 0, 0});
  CHECK(gradient_of(pow(x, 1), x) == std::vector<double>{1, 1, 1});
  CHECK(gradient_of(pow(x, 2), x) == std::vector<double>{0, -2, 4});
}

}  // namespace
}  // namespace minigpt
