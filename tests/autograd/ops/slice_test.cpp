#include "autograd/ops/slice.h"

#include "autograd/ops/mul.h"
#include "tests/autograd/gradient_testing.h"

namespace minigpt {
namespace {

TEST_CASE("slice: the gradient lies where the elements were taken, 0 elsewhere") {
  const Variable x(Tensor::from<double>({0, 1, 2, 3, 4, 5, 6}, {7}), true);
  CHECK(values(slice(x, 0, 1, -1, 2)) == std::vector<double>{1, 3, 5});
  CHECK(gradient_of(slice(x, 0, 1, -1, 2), x) == std::vector<double>{0, 1, 0, 1, 0, 1, 0});
  CHECK(gradient_of(slice(x, 0, -2, 100), x) == std::vector<double>{0, 0, 0, 0, 0, 1, 1});
  CHECK(gradient_of(slice(x, 0, 0, 7, 3), x) == std::vector<double>{1, 0, 0, 1, 0, 0, 1});
  CHECK(gradient_of(slice(x, 0, 5, 2), x) == std::vector<double>(7, 0.0));  // empty
}

TEST_CASE("slice: along each axis, with steps and negative bounds") {
  for (int axis : {0, 1, -1})
    for (std::int64_t step : {1, 2, 3})
      for (std::int64_t start : {0, 1, -2}) {
        CAPTURE(axis);
        CAPTURE(step);
        CAPTURE(start);
        const auto f = [=](const std::vector<Variable>& in) {
          return slice(in[0] * in[0], axis, start, 4, step);
        };
        check_gradients(f, {leaf({4, 5})});
        check_gradients(f, {transposed_leaf({4, 5})});
      }
}

TEST_CASE("slice: overlapping pieces add up") {
  const Variable x = leaf({4});
  CHECK(gradient_of(slice(x, 0, 0, 3) * slice(x, 0, 1, 4), x) ==
        std::vector<double>{x.value().at({1}), x.value().at({0}) + x.value().at({2}),
                            x.value().at({1}) + x.value().at({3}), x.value().at({2})});
}

TEST_CASE("pad: zeros around, and slice as its gradient") {
  const Variable x(Tensor::from<double>({1, 2}, {2}), true);
  CHECK(values(pad(x, {6}, 0, 1, 3)) == std::vector<double>{0, 1, 0, 0, 2, 0});
  check_gradients([](const auto& in) { return pad(in[0] * in[0], {2, 5}, 1, 0, 2); }, {leaf({2, 3})});
}

}  // namespace
}  // namespace minigpt
