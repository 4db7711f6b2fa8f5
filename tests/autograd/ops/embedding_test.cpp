#include "autograd/ops/embedding.h"

#include <limits>

#include "autograd/ops/linear.h"
#include "autograd/ops/mul.h"
#include "tests/autograd/op_testing.h"

namespace minigpt {
namespace {

using namespace testing;

Tensor ids(std::initializer_list<std::int32_t> values, const Shape& shape) {
  return Tensor::from<std::int32_t>(values, shape);
}

TEST_CASE("embedding: one row per index, of any shape") {
  const Variable table(Tensor::from<double>({0, 1, 10, 11, 20, 21}, {3, 2}));
  const Variable y = embedding(table, ids({2, 0, 0, 1}, {2, 2}));
  CHECK(y.shape() == Shape{2, 2, 2});
  CHECK(y.value().to_vector<double>() == std::vector<double>{20, 21, 0, 1, 0, 1, 10, 11});
  CHECK(embedding(table, ids({1}, {})).shape() == Shape{2});
}

TEST_CASE("embedding: a row collects the gradient of every place that used it (A-10)") {
  const Tensor index = ids({2, 2, 0, 2}, {4});
  const Variable table = leaf({4, 3}, 1);
  const Op op = [&](const std::vector<Variable>& v) { return embedding(v[0], index); };
  const Outcome o = outcome(op, {table}, ones({4, 3}, DType::f64));
  const double times[] = {1, 0, 3, 0};
  for (int row = 0; row < 4; ++row)
    for (int c = 0; c < 3; ++c) CHECK(o.gradients[0].at({row, c}) == times[row]);

  const Tensor dy = Tensor::from<double>({1, 2, 4, 8}, {4, 1});
  const Outcome distinct = outcome(op, {leaf({4, 1}, 1)}, dy);
  CHECK(distinct.gradients[0].to_vector<double>() == std::vector<double>{4, 0, 11, 0});
  check_derivatives(op, {table});
  check_layouts(op, {table});
}

TEST_CASE(
    "embedding: a table that is the output matrix as well gets the gradients of both uses (C-12, A-01)") {
  const Tensor index = ids({2, 0, 2}, {3});
  const Op op = [&](const std::vector<Variable>& v) {
    return linear(embedding(v[0], index) * embedding(v[0], index), v[0]);
  };
  const Variable table = leaf({4, 3}, 1);
  check_derivatives(op, {table});
  // backward() adds up in the leaf, where grad() adds up beside it.
  const Tensor dy = random({3, 4}, 99);
  op({table}).backward({Variable(dy)});
  CHECK(difference(table.grad().value(), outcome(op, {table}, dy).gradients[0]) == 0);
}

TEST_CASE("embedding: a padding row is read but never learns") {
  const Tensor index = ids({1, 0, 1, 2}, {2, 2});
  const Variable table = leaf({3, 2}, 1);
  const Op op = [&](const std::vector<Variable>& v) { return embedding(v[0], index, 1); };
  const Outcome o = outcome(op, {table}, ones({2, 2, 2}, DType::f64));
  CHECK(difference(o.value, embedding(table, index).value()) == 0);
  CHECK(o.gradients[0].to_vector<double>() == std::vector<double>{1, 1, 0, 0, 1, 1});
}

TEST_CASE("embedding: an index outside the table is named with its position (D-07)") {
  const Variable table = leaf({10, 2}, 1);
  // 2^31 does not fit an index at all: the numbers next to it do.
  for (std::int32_t bad :
       {-1, 10, std::numeric_limits<std::int32_t>::min(), std::numeric_limits<std::int32_t>::max()}) {
    const std::string reason =
        "index " + std::to_string(bad) + " at position (1, 0) is outside [0, 10) of the table (10, 2)";
    CHECK_THROWS_WITH_AS(embedding(table, ids({3, 9, bad, 0}, {2, 2})), doctest::Contains(reason.c_str()),
                         Error);
  }
  CHECK_THROWS_AS(embedding(table, zeros({2}, DType::f64)), Error);
}

}  // namespace
}  // namespace minigpt
