#include "autograd/ops/rms_norm.h"

#include "tests/autograd/op_testing.h"

namespace minigpt {
namespace {

using namespace testing;

Op norm(double eps) {
  return [eps](const std::vector<Variable>& v) { return rms_norm(v[0], v[1], eps); };
}
Op composed(double eps) {
  return [eps](const std::vector<Variable>& v) { return rms_norm_composed(v[0], v[1], eps); };
}

TEST_CASE("rms_norm: 3 and 4 have a root mean square of sqrt(12.5)") {
  const Variable x(Tensor::from<double>({3, 4}, {1, 2}));
  const double rms = std::sqrt(12.5);
  CHECK(difference(rms_norm(x, Variable(), 0).value(), Tensor::from<double>({3 / rms, 4 / rms}, {1, 2})) <
        1e-15);
}

TEST_CASE("rms_norm: derivatives, layouts and composition, with and without weight") {
  for (const Shape& shape : {Shape{5}, Shape{3, 5}, Shape{2, 3, 5}}) {
    CAPTURE(shape.str());
    const Variable x = leaf(shape, 1), w = leaf({5}, 2);
    for (const std::vector<Variable>& in : {std::vector<Variable>{x, w}, {x, Variable()}}) {
      check_layouts(norm(1e-5), in);
      check_agree(norm(1e-5), composed(1e-5), in, 1e-10);
    }
    check_derivatives(norm(1e-5), {x, w});
  }
}

TEST_CASE("rms_norm: a row of zeros gives zeros and a finite gradient") {
  for (bool create_graph : {false, true}) {
    const Outcome o =
        outcome(norm(1e-5), {leaf(zeros({2, 3}, DType::f64)), leaf({3}, 2)}, Tensor(), create_graph);
    CHECK(difference(o.value, zeros({2, 3}, DType::f64)) == 0);
    CHECK(all_finite(o.gradients[0]));
    CHECK(difference(o.gradients[1], zeros({3}, DType::f64)) == 0);
  }
}

TEST_CASE("rms_norm: shapes must fit exactly") {
  CHECK_THROWS_AS(rms_norm(leaf({2, 3}, 1), leaf({2}, 2)), Error);
  CHECK_THROWS_AS(rms_norm(leaf({}, 1), Variable()), Error);
}

}  // namespace
}  // namespace minigpt
