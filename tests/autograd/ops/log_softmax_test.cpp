#include "autograd/ops/log_softmax.h"

#include <numbers>

#include "autograd/ops/log.h"
#include "autograd/ops/softmax.h"
#include "tests/autograd/op_testing.h"

namespace minigpt {
namespace {

using namespace testing;

TEST_CASE("log_softmax: the logarithm of softmax along every axis") {
  for (int axis : {0, 1, 2, -1}) {
    CAPTURE(axis);
    const Variable x = leaf({2, 3, 4}, 1);
    const Op fused = [axis](const std::vector<Variable>& v) { return log_softmax(v[0], axis); };
    check_derivatives(fused, {x});
    check_layouts(fused, {x});
    check_agree(fused, [axis](const std::vector<Variable>& v) { return log(softmax(v[0], axis)); }, {x});
  }
}

TEST_CASE("log_softmax: large scores lose nothing (N-01)") {
  for (double large : {1e8, 1e20, -1e20}) {
    CAPTURE(large);
    const Variable x(Tensor::from<double>({large, large}, {2}), true);
    const Outcome o = outcome([](const std::vector<Variable>& v) { return log_softmax(v[0]); }, {x});
    CHECK(difference(o.value, full({2}, -std::numbers::ln2, DType::f64)) < 1e-15);
    CHECK(all_finite(o.gradients[0]));
  }
}

TEST_CASE("log_softmax: a score of -inf stays -inf and leaves the others alone") {
  const Variable x(Tensor::from<double>({1, -INFINITY, 2}, {3}), true);
  for (bool create_graph : {false, true}) {
    const Outcome o = outcome([](const std::vector<Variable>& v) { return log_softmax(v[0]); }, {x},
                              Tensor::from<double>({1, 0, 1}, {3}), create_graph);
    CHECK(o.value.at({1}) == -INFINITY);
    CHECK(o.gradients[0].at({1}) == 0);
    CHECK(all_finite(o.gradients[0]));
  }
}

}  // namespace
}  // namespace minigpt
