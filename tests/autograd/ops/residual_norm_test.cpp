#include "autograd/ops/residual_norm.h"

#include "autograd/ops/mul.h"
#include "tests/autograd/op_testing.h"

namespace minigpt {
namespace {

using namespace testing;

// Both results enter, with different weights, so that a gradient that goes astray between them shows.
Variable both(const ResidualNorm& r) { return r.sum * 0.7 + r.normed * r.normed; }

TEST_CASE("residual_layer_norm: equals the addition and the normalisation one after the other") {
  const auto fused = [](const std::vector<Variable>& v) {
    return both(
        residual_layer_norm(v[0], v[1], v.size() > 2 ? v[2] : Variable(), v.size() > 3 ? v[3] : Variable()));
  };
  const auto composed = [](const std::vector<Variable>& v) {
    const Variable sum = v[0] + v[1];
    return both({sum, layer_norm(sum, v.size() > 2 ? v[2] : Variable(), v.size() > 3 ? v[3] : Variable())});
  };
  for (const Shape& shape : {Shape{7}, Shape{3, 7}, Shape{2, 3, 7}, Shape{0, 7}, Shape{600, 7}}) {
    CAPTURE(shape.str());
    const Variable x = leaf(shape, 1), branch = leaf(shape, 2), w = leaf({7}, 3), b = leaf({7}, 4);
    check_agree(fused, composed, {x, branch});
    check_agree(fused, composed, {x, branch, w});
    check_agree(fused, composed, {x, branch, w, b});
  }
  const Variable x = leaf({3, 7}, 1), branch = leaf({3, 7}, 2), w = leaf({7}, 3), b = leaf({7}, 4);
  check_derivatives(fused, {x, branch, w, b});
  check_layouts(fused, {x, branch, w, b});
}

TEST_CASE("residual_rms_norm: equals the addition and the normalisation one after the other") {
  const auto fused = [](const std::vector<Variable>& v) {
    return both(residual_rms_norm(v[0], v[1], v.size() > 2 ? v[2] : Variable()));
  };
  const auto composed = [](const std::vector<Variable>& v) {
    const Variable sum = v[0] + v[1];
    return both({sum, rms_norm(sum, v.size() > 2 ? v[2] : Variable())});
  };
  for (const Shape& shape : {Shape{7}, Shape{2, 3, 7}, Shape{0, 7}, Shape{600, 7}}) {
    CAPTURE(shape.str());
    const Variable x = leaf(shape, 1), branch = leaf(shape, 2), w = leaf({7}, 3);
    check_agree(fused, composed, {x, branch});
    check_agree(fused, composed, {x, branch, w});
  }
  const Variable x = leaf({3, 7}, 1), branch = leaf({3, 7}, 2), w = leaf({7}, 3);
  check_derivatives(fused, {x, branch, w});
  check_layouts(fused, {x, branch, w});
}

TEST_CASE("residual norms: the branch must have the shape of x: nothing is broadcast") {
  const Variable x = leaf({3, 7}, 1), branch = leaf({7}, 2);
  CHECK_THROWS_AS(residual_layer_norm(x, branch, Variable(), Variable()), Error);
  CHECK_THROWS_AS(residual_rms_norm(x, branch, Variable()), Error);
}

}  // namespace
}  // namespace minigpt
