#include "autograd/ops/qk_norm.h"

#include "tests/autograd/op_testing.h"

namespace minigpt {
namespace {

using namespace testing;

TEST_CASE("qk_norm: every head of queries and keys has a root mean square of 1; values stay") {
  // One position, two heads of one number pair each: q = (3, 4), (5, 12); k = (0, 2), (1, 1).
  const Variable x(Tensor::from<double>({3, 4, 5, 12, 0, 2, 1, 1, 7, 8, 9, 10}, {1, 1, 12}));
  const double a = std::sqrt(12.5), b = std::sqrt(84.5), c = std::sqrt(2.0);
  const Tensor expected =
      Tensor::from<double>({3 / a, 4 / a, 5 / b, 12 / b, 0, 2 / c, 1, 1, 7, 8, 9, 10}, {1, 1, 12});
  CHECK(difference(qk_norm(x, 2, 0).value(), expected) < 1e-15);
}

TEST_CASE("qk_norm: derivatives, layouts and composition") {
  for (const std::int64_t heads : {1, 2, 3}) {
    CAPTURE(heads);
    const Op fused = [&](const std::vector<Variable>& v) { return qk_norm(v[0], heads); };
    const Op slow = [&](const std::vector<Variable>& v) { return qk_norm_composed(v[0], heads, 1e-5); };
    const std::vector<Variable> in = {leaf({2, 3, 36}, 1)};
    check_layouts(fused, in);
    check_agree(fused, slow, in, 1e-10);
    check_derivatives(fused, in);
  }
}

TEST_CASE("qk_norm: what does not fit is refused") {
  CHECK_THROWS_AS(qk_norm(leaf({1, 3, 24}, 1), 5), Error);
  CHECK_THROWS_AS(qk_norm(leaf({1, 3, 25}, 1), 2), Error);
  CHECK_THROWS_AS(qk_norm(leaf({3, 24}, 1), 2), Error);
  CHECK_THROWS_AS(qk_norm(leaf({1, 3, 24}, 1), 2, -1.0), Error);
}

}  // namespace
}  // namespace minigpt
