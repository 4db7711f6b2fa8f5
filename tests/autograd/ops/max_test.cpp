#include "autograd/ops/max.h"

#include "autograd/ops/mul.h"
#include "tests/autograd/gradient_testing.h"

namespace minigpt {
namespace {

TEST_CASE("max of everything: equal elements share the gradient evenly") {
  const Variable x(Tensor::from<double>({1, 7, 3, 7, 7, 0}, {2, 3}), true);
  CHECK(max(x).item() == 7);
  const double third = 1.0 / 3;
  CHECK(gradient_of(max(x), x) == std::vector<double>{0, third, 0, third, third, 0});
}

TEST_CASE("max along an axis: the first of equal elements gets all of it") {
  const Variable x(Tensor::from<double>({1, 7, 7, 5, 4, 5}, {2, 3}), true);
  const MaxResult rows = max(x, -1), columns = max(x, 0, true);
  CHECK(values(rows.values) == std::vector<double>{7, 5});
  CHECK(values(rows.indices) == std::vector<double>{1, 0});
  CHECK(columns.values.shape() == Shape{1, 3});
  CHECK(values(columns.indices) == std::vector<double>{1, 0, 0});
  CHECK(gradient_of(rows.values, x) == std::vector<double>{0, 1, 0, 1, 0, 0});
  CHECK(gradient_of(columns.values, x) == std::vector<double>{0, 1, 1, 1, 0, 0});
}

TEST_CASE("max along each axis of three") {
  for (int axis : {0, 1, 2, -1, -2, -3})
    for (bool keepdim : {false, true}) {
      CAPTURE(axis);
      CAPTURE(keepdim);
      const auto f = [=](const std::vector<Variable>& in) {
        return max(in[0] * in[0], axis, keepdim).values;
      };
      check_gradients(f, {leaf({2, 3, 4})});
      check_gradients(f, {transposed_leaf({2, 3, 4})});
    }
}

TEST_CASE("amax over every subset of the axes, with and without keepdim") {
  for (const Dims& axes :
       {Dims{}, Dims{0}, Dims{-1}, Dims{0, 1}, Dims{1, 0}, Dims{0, 2}, Dims{-1, -3}, Dims{2, 1, 0}})
    for (bool keepdim : {false, true}) {
      CAPTURE(axes.str());
      CAPTURE(keepdim);
      const auto f = [&](const std::vector<Variable>& in) { return amax(in[0] * in[0], axes, keepdim); };
      check_gradients(f, {leaf({2, 3, 4})});
      check_gradients(f, {transposed_leaf({2, 3, 4})});
    }
  CHECK_THROWS_AS(amax(leaf({2, 3}), {2}), Error);
  CHECK_THROWS_AS(amax(leaf({2, 3}), {0, -2}), Error);
}

}  // namespace
}  // namespace minigpt
