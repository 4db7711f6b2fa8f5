#include "autograd/ops/softmax.h"

#include <limits>

#include "autograd/ops/div.h"
#include "autograd/ops/exp.h"
#include "tests/autograd/op_testing.h"

namespace minigpt {
namespace {

using namespace testing;

constexpr double kInf = std::numeric_limits<double>::infinity();

TEST_CASE("softmax: equal scores share the probability, and a shift changes nothing") {
  CHECK(difference(softmax(Variable(zeros({1, 4}, DType::f64))).value(), full({1, 4}, 0.25, DType::f64)) <
        1e-15);
  const Tensor x = random({3, 5}, 1);
  CHECK(difference(softmax(Variable(x)).value(), softmax(Variable(x + 100.0)).value()) < 1e-12);
}

TEST_CASE("softmax: every axis, against the formula in elementary ops") {
  for (int axis : {0, 1, 2, -1, -3}) {
    CAPTURE(axis);
    const Variable x = leaf({2, 3, 4}, 1);
    const Op fused = [axis](const std::vector<Variable>& v) { return softmax(v[0], axis); };
    check_derivatives(fused, {x});
    check_layouts(fused, {x});
    check_agree(fused,
                [axis](const std::vector<Variable>& v) {
                  const Variable e = exp(v[0]);
                  return e / sum(e, {axis}, true);
                },
                {x});
  }
}

TEST_CASE("softmax: large scores (N-01)") {
  const Variable x(Tensor::from<double>({1e30, 0, -1e30}, {3}), true);
  const Outcome o = outcome([](const std::vector<Variable>& v) { return softmax(v[0]); }, {x});
  CHECK(o.value.to_vector<double>() == std::vector<double>{1, 0, 0});
  CHECK(all_finite(o.gradients[0]));
}

TEST_CASE("softmax: -inf gets exactly 0; a row of nothing else gives zeros and no gradient (M-01)") {
  const Op op = [](const std::vector<Variable>& v) { return softmax(v[0]); };
  const Variable x(Tensor::from<double>({0, -kInf, 1, -kInf, -kInf, -kInf}, {2, 3}), true);
  const Variable alone(Tensor::from<double>({0, -kInf, 1}, {1, 3}), true);
  const Tensor dy = random({2, 3}, 4);
  for (bool create_graph : {false, true}) {
    const Outcome both = outcome(op, {x}, dy, create_graph),
                  one = outcome(op, {alone}, slice(dy, 0, 0, 1), create_graph);
    CHECK(both.value.at({0, 1}) == 0);
    CHECK(difference(slice(both.value, 0, 1, 2), zeros({1, 3}, DType::f64)) == 0);
    CHECK(difference(slice(both.gradients[0], 0, 1, 2), zeros({1, 3}, DType::f64)) == 0);
    // The other row is what it would be without the masked one, bit for bit.
    CHECK(difference(slice(both.value, 0, 0, 1), one.value) == 0);
    CHECK(difference(slice(both.gradients[0], 0, 0, 1), one.gradients[0]) == 0);
  }
}

TEST_CASE("softmax: NaN and +inf are not hidden (M-01)") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (double bad : {nan, kInf}) {
    const Tensor y = softmax(Variable(Tensor::from<double>({0, bad, 1}, {3}))).value();
    CHECK(std::isnan(y.at({1})));
  }
}

TEST_CASE("softmax: errors") {
  CHECK_THROWS_AS(softmax(leaf({}, 1)), Error);
  CHECK_THROWS_AS(softmax(leaf({2, 3}, 1), 2), Error);
  CHECK_THROWS_AS(softmax(leaf({3}, 1), 1), Error);
}

}  // namespace
}  // namespace minigpt
