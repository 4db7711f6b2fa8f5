#include "autograd/ops/linear.h"

#include "autograd/ops/add.h"
#include "tests/autograd/op_testing.h"

namespace minigpt {
namespace {

using namespace testing;

Variable apply(const std::vector<Variable>& v) {
  return linear(v[0], v[1], v.size() > 2 ? v[2] : Variable());
}

TEST_CASE("linear: y = x W^T + b by hand") {
  const Variable x(Tensor::from<double>({1, 2}, {1, 2}), true),
      w(Tensor::from<double>({3, 4, 5, 6, 7, 8}, {3, 2}), true),
      b(Tensor::from<double>({0.5, -0.5, 1}, {3}), true);
  const Variable y = linear(x, w, b);
  CHECK(y.value().to_vector<double>() == std::vector<double>{11.5, 16.5, 24});
  y.backward({Variable(Tensor::from<double>({1, 10, 100}, {1, 3}))});
  CHECK(x.grad().value().to_vector<double>() == std::vector<double>{753, 864});
  CHECK(w.grad().value().to_vector<double>() == std::vector<double>{1, 2, 10, 20, 100, 200});
  CHECK(b.grad().value().to_vector<double>() == std::vector<double>{1, 10, 100});
}

TEST_CASE("linear: any number of leading axes, with and without bias") {
  for (const Shape& shape : {Shape{4}, Shape{3, 4}, Shape{2, 3, 4}, Shape{2, 1, 3, 4}}) {
    CAPTURE(shape.str());
    const Variable x = leaf(shape, 1), w = leaf({5, 4}, 2), b = leaf({5}, 3);
    check_derivatives(apply, {x, w, b});
    check_derivatives(apply, {x, w});
    check_layouts(apply, {x, w, b});
    check_agree(apply, [](const std::vector<Variable>& v) { return matmul(v[0], transpose(v[1])) + v[2]; },
                {x, w, b});
  }
}

TEST_CASE("linear: square matrices, where a forgotten transpose goes unnoticed by the shapes") {
  for (const Shape& shape : {Shape{3, 3}, Shape{3, 3, 3}}) {
    const Variable x = leaf(shape, 1), w = leaf({3, 3}, 2), b = leaf({3}, 3);
    check_derivatives(apply, {x, w, b});
    check_layouts(apply, {x, w, b});
  }
}

TEST_CASE("linear: only what requires a gradient gets one") {
  const Variable x(random({3, 4}, 1)), w(random({5, 4}, 2)), b = leaf({5}, 3);
  const Outcome o = outcome(apply, {x, w, b}, ones({3, 5}, DType::f64));
  CHECK(difference(o.gradients[0], full({5}, 3, DType::f64)) == 0);
  CHECK(gradgradcheck(apply, {x, leaf({5, 4}, 2), Variable(random({5}, 3))}).ok);
}

TEST_CASE("linear: errors name the rule and both shapes") {
  CHECK_THROWS_WITH_AS(linear(leaf({2, 3}, 1), leaf({5, 4}, 2)),
                       "[linear] inner dimensions differ: x (2, 3) and weight (5, 4): 3 != 4", Error);
}

}  // namespace
}  // namespace minigpt
