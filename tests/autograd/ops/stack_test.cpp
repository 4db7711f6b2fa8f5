#include "autograd/ops/stack.h"

#include "autograd/ops/mul.h"
#include "tests/autograd/gradient_testing.h"

namespace minigpt {
namespace {

TEST_CASE("stack: a new axis that counts the inputs") {
  const Variable a(Tensor::from<double>({1, 2}, {2}), true), b(Tensor::from<double>({3, 4}, {2}), true);
  CHECK(values(stack({a, b}, 0)) == std::vector<double>{1, 2, 3, 4});
  CHECK(values(stack({a, b})) == std::vector<double>{1, 2, 3, 4});
  CHECK(values(stack({a, b}, -1)) == std::vector<double>{1, 3, 2, 4});
  CHECK(gradient_of(stack({a, b}, 1), b, Tensor::from<double>({10, 20, 30, 40}, {2, 2})) ==
        std::vector<double>{20, 40});
  for (int axis : {0, 1, 2, -1, -2}) {
    CAPTURE(axis);
    const auto f = [axis](const std::vector<Variable>& in) { return stack({in[0] * in[1], in[1]}, axis); };
    check_gradients(f, {leaf({2, 3}), transposed_leaf({2, 3})});
  }
}

}  // namespace
}  // namespace minigpt
