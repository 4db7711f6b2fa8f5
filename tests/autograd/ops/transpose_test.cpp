#include "autograd/ops/transpose.h"

#include "autograd/ops/mul.h"
#include "tests/autograd/gradient_testing.h"

namespace minigpt {
namespace {

TEST_CASE("transpose: two axes swapped, and swapped back for the gradient") {
  const Variable x(Tensor::from<double>({1, 2, 3, 4, 5, 6}, {2, 3}), true);
  CHECK(values(transpose(x)) == std::vector<double>{1, 4, 2, 5, 3, 6});
  CHECK(gradient_of(transpose(x), x, Tensor::from<double>({1, 2, 3, 4, 5, 6}, {3, 2})) ==
        std::vector<double>{1, 3, 5, 2, 4, 6});
  for (int a : {0, 1, -1})
    for (int b : {0, 2, -2})
      check_gradients([a, b](const auto& in) { return transpose(in[0] * in[0], a, b); }, {leaf({2, 3, 2})});
}

}  // namespace
}  // namespace minigpt
