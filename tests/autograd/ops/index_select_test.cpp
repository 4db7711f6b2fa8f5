#include "autograd/ops/index_select.h"

#include "tests/autograd/op_testing.h"

namespace minigpt {
namespace {

using namespace testing;

Tensor ids(std::initializer_list<std::int32_t> values) {
  return Tensor::from<std::int32_t>(values, {static_cast<std::int64_t>(values.size())});
}

TEST_CASE("index_select: whole slices; repeated ones add their gradients, others get exactly 0 (A-10)") {
  const Variable x(Tensor::from<double>({1, 2, 3, 4, 5, 6, 7, 8}, {4, 2}), true);
  const Op op = [](const std::vector<Variable>& v) { return index_select(v[0], 0, ids({2, 2, 0, 2})); };
  const Outcome o = outcome(op, {x}, ones({4, 2}, DType::f64));
  CHECK(o.value.to_vector<double>() == std::vector<double>{5, 6, 5, 6, 1, 2, 5, 6});
  CHECK(o.gradients[0].to_vector<double>() == std::vector<double>{1, 1, 0, 0, 3, 3, 0, 0});
}

TEST_CASE("index_select and index_add: derivatives along every axis") {
  const Tensor index = ids({1, 0, 1});
  for (int axis : {0, 1, 2, -1}) {
    CAPTURE(axis);
    const Op take = [&](const std::vector<Variable>& v) { return index_select(v[0], axis, index); };
    const Variable x = leaf({2, 3, 4}, 1);
    check_derivatives(take, {x});
    check_layouts(take, {x});
    const Op put = [&](const std::vector<Variable>& v) { return index_add({2, 3, 4}, axis, index, v[0]); };
    check_derivatives(put, {leaf(take({x}).value().clone())});
  }
}

TEST_CASE("index_select: a bad index is refused") {
  CHECK_THROWS_AS(index_select(leaf({2, 3}, 1), 0, ids({2})), Error);
  CHECK_THROWS_AS(index_select(leaf({2, 3}, 1), 0, ids({-1})), Error);
}

}  // namespace
}  // namespace minigpt
