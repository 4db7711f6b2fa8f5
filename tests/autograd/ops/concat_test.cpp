#include "autograd/ops/concat.h"

#include "autograd/ops/mul.h"
#include "tests/autograd/gradient_testing.h"

namespace minigpt {
namespace {

TEST_CASE("concat: each input gets its part of the gradient") {
  const Variable a(Tensor::from<double>({1, 2}, {1, 2}), true),
      b(Tensor::from<double>({3, 4, 5, 6}, {2, 2}), true);
  CHECK(values(concat({a, b}, 0)) == std::vector<double>{1, 2, 3, 4, 5, 6});
  const Tensor v = Tensor::from<double>({10, 20, 30, 40, 50, 60}, {3, 2});
  CHECK(gradient_of(concat({a, b}), a, v) == std::vector<double>{10, 20});
  CHECK(gradient_of(concat({a, b}), b, v) == std::vector<double>{30, 40, 50, 60});
}

TEST_CASE("concat: along any axis, with constants, empty parts and repeats among the inputs") {
  const auto along = [](int axis) {
    return [axis](const std::vector<Variable>& in) {
      const Variable y = concat(in, axis);
      return y * y;
    };
  };
  check_gradients(along(0), {leaf({1, 3}), transposed_leaf({2, 3}), leaf({3, 3})});
  check_gradients(along(-1), {leaf({2, 1}), transposed_leaf({2, 3}), leaf({2, 2})});
  check_gradients(along(1), {leaf({2, 1}), Variable(spread({2, 2})), leaf({2, 2})});
  check_gradients(along(0), {leaf({2}), leaf({0}), leaf({1})});
  check_gradients([](const auto& in) { return concat({in[0], in[0] * in[0], in[0]}, 1); }, {leaf({2, 2})});
}

}  // namespace
}  // namespace minigpt
