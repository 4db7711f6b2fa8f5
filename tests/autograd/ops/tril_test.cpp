#include "autograd/ops/tril.h"

#include "autograd/ops/mul.h"
#include "tests/autograd/gradient_testing.h"

namespace minigpt {
namespace {

TEST_CASE("tril: keeps the lower triangle of values and gradients") {
  const Variable x(Tensor::from<double>({1, 2, 3, 4, 5, 6}, {2, 3}), true);
  CHECK(values(tril(x)) == std::vector<double>{1, 0, 0, 4, 5, 0});
  CHECK(values(tril(x, 1)) == std::vector<double>{1, 2, 0, 4, 5, 6});
  CHECK(values(tril(x, -1)) == std::vector<double>{0, 0, 0, 4, 0, 0});
  for (std::int64_t diagonal : {-1, 0, 1, 2})
    check_elementwise([diagonal](const Variable& v) { return tril(v * v, diagonal); });
  check_gradients([](const auto& in) { return tril(in[0] * in[0]); }, {leaf({2, 3, 3})});
}

}  // namespace
}  // namespace minigpt
