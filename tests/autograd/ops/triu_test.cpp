#include "autograd/ops/triu.h"

#include "autograd/ops/mul.h"
#include "tests/autograd/gradient_testing.h"

namespace minigpt {
namespace {

TEST_CASE("triu: keeps the upper triangle of values and gradients") {
  const Variable x(Tensor::from<double>({1, 2, 3, 4, 5, 6}, {2, 3}), true);
  CHECK(values(triu(x)) == std::vector<double>{1, 2, 3, 0, 5, 6});
  CHECK(values(triu(x, 1)) == std::vector<double>{0, 2, 3, 0, 0, 6});
  CHECK(values(triu(x, -1)) == std::vector<double>{1, 2, 3, 4, 5, 6});
  for (std::int64_t diagonal : {-1, 0, 1, 2})
    check_elementwise([diagonal](const Variable& v) { return triu(v * v, diagonal); });
  check_gradients([](const auto& in) { return triu(in[0] * in[0]); }, {leaf({2, 3, 3})});
}

}  // namespace
}  // namespace minigpt
