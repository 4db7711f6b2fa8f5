#include "autograd/ops/masked_fill.h"

#include "tests/autograd/gradient_testing.h"

namespace minigpt {
namespace {

TEST_CASE("masked_fill: no gradient where the value was overwritten") {
  const Tensor mask = Tensor::from<bool>({false, true, false}, {3});
  const Variable x(Tensor::from<double>({1, 2, 3, 4, 5, 6}, {2, 3}), true);
  CHECK(values(masked_fill(x, mask, -9)) == std::vector<double>{1, -9, 3, 4, -9, 6});
  CHECK(gradient_of(masked_fill(x, mask, -HUGE_VAL), x) == std::vector<double>{1, 0, 1, 1, 0, 1});
  check_elementwise([&mask](const Variable& v) { return masked_fill(v, mask, 7); });
}

}  // namespace
}  // namespace minigpt
