#include "autograd/ops/matmul.h"

#include "autograd/ops/expand.h"
#include "tests/autograd/op_testing.h"

namespace minigpt {
namespace {

using namespace testing;

Variable product(const std::vector<Variable>& v) { return matmul(v[0], v[1]); }

TEST_CASE("matmul: the product of two small matrices, and its gradients by hand") {
  const Variable a(Tensor::from<double>({1, 2, 3, 4}, {2, 2}), true),
      b(Tensor::from<double>({5, 6, 7, 8}, {2, 2}), true);
  const Variable y = matmul(a, b);
  CHECK(y.value().to_vector<double>() == std::vector<double>{19, 22, 43, 50});
  y.backward({Variable(ones({2, 2}, DType::f64))});
  // da = dy b^T: with dy of ones, the row sums of b; db = a^T dy: the column sums of a.
  CHECK(a.grad().value().to_vector<double>() == std::vector<double>{11, 15, 11, 15});
  CHECK(b.grad().value().to_vector<double>() == std::vector<double>{4, 4, 6, 6});
}

TEST_CASE("matmul: a sum over nothing is 0, in every shape, and so are its gradients") {
  const std::vector<std::pair<Shape, Shape>> cases = {{{2, 0}, {0, 3}},       {{4, 2, 0}, {0, 3}},
                                                      {{4, 2, 0}, {4, 0, 3}}, {{0}, {0, 3}},
                                                      {{2, 0}, {0}},          {{0}, {0}}};
  for (const auto& pair : cases) {
    const Shape &a = pair.first, &b = pair.second;
    CAPTURE(a.str());
    CAPTURE(b.str());
    const Variable x = leaf(a, 1), w = leaf(b, 2);
    const Outcome o = outcome(product, {x, w});
    for (double v : o.value.to_vector<double>()) CHECK(v == 0);
    CHECK(o.gradients[0].shape() == a);
    CHECK(o.gradients[1].shape() == b);
  }
}

TEST_CASE("matmul: every combination of ranks has the shape, gradients and second gradients it should") {
  struct Case {
    Shape a, b, y;
  };
  const std::vector<Case> cases = {
      {{3, 4}, {4, 2}, {3, 2}},                    // matrices
      {{4}, {4}, {}},                              // vectors: a scalar
      {{3, 4}, {4}, {3}},                          // matrix by vector
      {{4}, {4, 2}, {2}},                          // vector by matrix
      {{2, 3, 4}, {2, 4, 2}, {2, 3, 2}},           // batches
      {{2, 3, 4}, {4, 2}, {2, 3, 2}},              // one matrix for all batches
      {{3, 4}, {2, 4, 2}, {2, 3, 2}},              // one left matrix for all batches
      {{2, 1, 3, 4}, {3, 4, 2}, {2, 3, 3, 2}},     // batches that broadcast
      {{2, 1, 3, 4}, {1, 3, 4, 2}, {2, 3, 3, 2}},  // on both sides
      {{2, 3, 4}, {4}, {2, 3}},                    // batch by vector
      {{4}, {2, 4, 3}, {2, 3}},                    // vector by batch
      {{1, 1}, {1, 1}, {1, 1}},
  };
  for (const Case& c : cases) {
    CAPTURE(c.a.str());
    CAPTURE(c.b.str());
    const std::vector<Variable> in = {leaf(c.a, 1), leaf(c.b, 2)};
    CHECK(product(in).shape() == c.y);
    check_derivatives(product, in);
    check_layouts(product, in);
  }
}

TEST_CASE("matmul: an inner extent of 0 gives zeros, and empty gradients") {
  const Outcome o = outcome(product, {leaf({2, 0}, 1), leaf({0, 3}, 2)});
  CHECK(difference(o.value, zeros({2, 3}, DType::f64)) == 0);
  CHECK(o.gradients[0].shape() == Shape{2, 0});
  CHECK(o.gradients[1].shape() == Shape{0, 3});
}

TEST_CASE("matmul: one input alone can require a gradient") {
  const Variable a = leaf({3, 4}, 1), constant(random({4, 2}, 2));
  CHECK(gradcheck(product, {a, constant}).ok);
  CHECK(gradcheck(product, {constant, leaf({2, 3}, 3)}).ok);
}

TEST_CASE("matmul: a matrix times itself collects both gradients") {
  const Variable a = leaf({3, 3}, 1);
  check_derivatives([](const std::vector<Variable>& v) { return matmul(v[0], v[0]); }, {a});
  check_derivatives([](const std::vector<Variable>& v) { return matmul(transpose(v[0]), v[0]); }, {a});
}

TEST_CASE("matmul: errors name the rule and both shapes") {
  CHECK_THROWS_WITH_AS(matmul(leaf({2, 3}, 1), leaf({4, 5}, 2)),
                       "[matmul] inner dimensions differ: (2, 3) x (4, 5): 3 != 4", Error);
  CHECK_THROWS_AS(matmul(leaf({}, 1), leaf({4}, 2)), Error);
  CHECK_THROWS_AS(matmul(leaf({2, 3, 4}, 1), leaf({3, 4, 2}, 2)), Error);
}

}  // namespace
}  // namespace minigpt
