#include "autograd/ops/gather.h"

#include "tests/autograd/op_testing.h"

namespace minigpt {
namespace {

using namespace testing;

Tensor ids(std::initializer_list<std::int32_t> values, const Shape& shape) {
  return Tensor::from<std::int32_t>(values, shape);
}

TEST_CASE("gather: one element per index; repeated indices add their gradients (A-10)") {
  const Variable x(Tensor::from<double>({1, 2, 3, 4, 5, 6}, {2, 3}), true);
  const Op op = [](const std::vector<Variable>& v) {
    return gather(v[0], 1, ids({2, 2, 0, 1, 1, 1}, {2, 3}));
  };
  const Outcome o = outcome(op, {x}, Tensor::from<double>({1, 10, 100, 1, 10, 100}, {2, 3}));
  CHECK(o.value.to_vector<double>() == std::vector<double>{3, 3, 1, 5, 5, 5});
  CHECK(o.gradients[0].to_vector<double>() == std::vector<double>{100, 0, 11, 0, 111, 0});
}

TEST_CASE("gather and scatter_add: derivatives along every axis") {
  const Tensor index = ids({0, 1, 1, 0, 1, 1, 0, 0, 1, 1, 1, 0}, {2, 3, 2});
  for (int axis : {0, 1, 2, -1}) {
    CAPTURE(axis);
    const Op take = [&](const std::vector<Variable>& v) { return gather(v[0], axis, index); };
    check_derivatives(take, {leaf({2, 3, 2}, 1)});
    check_layouts(take, {leaf({2, 3, 2}, 1)});
    const Op put = [&](const std::vector<Variable>& v) { return scatter_add({2, 3, 2}, axis, index, v[0]); };
    check_derivatives(put, {leaf({2, 3, 2}, 1)});
    check_layouts(put, {leaf({2, 3, 2}, 1)});
  }
}

TEST_CASE("gather: a bad index is refused") {
  CHECK_THROWS_AS(gather(leaf({2, 3}, 1), 1, ids({3, 0}, {2, 1})), Error);
  CHECK_THROWS_AS(gather(leaf({2, 3}, 1), 1, ids({-1, 0}, {2, 1})), Error);
  CHECK_THROWS_AS(gather(leaf({2, 3}, 1), 2, ids({0, 0}, {2, 1})), Error);
}

}  // namespace
}  // namespace minigpt
