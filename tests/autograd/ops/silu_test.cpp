#include "autograd/ops/silu.h"

#include "tests/autograd/gradient_testing.h"

namespace minigpt {
namespace {

TEST_CASE("silu: x * sigmoid(x)") {
  check_values(silu(leaf({4})), leaf({4}), [](double x) { return x / (1 + std::exp(-x)); });
  check_elementwise([](const Variable& x) { return silu(x); });
}

TEST_CASE("silu: the kernels agree with the composition") {
  const Variable x = leaf({3, 5}, -8, 8);
  const std::vector<double> fused = values(silu(x)), composed = values(silu_composed(x));
  const std::vector<double> d_fused = gradient_of(silu(x), x), d_composed = gradient_of(silu_composed(x), x);
  for (std::size_t i = 0; i < fused.size(); ++i) {
    CHECK(fused[i] == doctest::Approx(composed[i]).epsilon(1e-12));
    CHECK(d_fused[i] == doctest::Approx(d_composed[i]).epsilon(1e-12));
  }
}

}  // namespace
}  // namespace minigpt
