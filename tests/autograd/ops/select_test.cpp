#include "autograd/ops/select.h"

#include "autograd/ops/mul.h"
#include "tests/autograd/gradient_testing.h"

namespace minigpt {
namespace {

TEST_CASE("select: one index of an axis") {
  const Variable x(Tensor::from<double>({1, 2, 3, 4, 5, 6}, {2, 3}), true);
  CHECK(values(select(x, 1, -1)) == std::vector<double>{3, 6});
  CHECK(gradient_of(select(x, 1, -1), x) == std::vector<double>{0, 0, 1, 0, 0, 1});
  CHECK(gradient_of(select(x, 0, 1), x) == std::vector<double>{0, 0, 0, 1, 1, 1});
  for (int axis : {0, 1, -1}) check_elementwise([axis](const Variable& v) { return select(v * v, axis, 1); });
  check_gradients([](const auto& in) { return select(in[0], 0, 2); }, {leaf({3})});
  CHECK_THROWS_AS(select(x, 0, 2), Error);
}

}  // namespace
}  // namespace minigpt
