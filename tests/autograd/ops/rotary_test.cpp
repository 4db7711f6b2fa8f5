#include "autograd/ops/rotary.h"

#include "autograd/ops/add.h"
#include "autograd/ops/causal_attention.h"
#include "autograd/ops/concat.h"
#include "autograd/ops/mul.h"
#include "autograd/ops/reshape.h"
#include "autograd/ops/slice.h"
#include "autograd/ops/split.h"
#include "autograd/ops/sub.h"
#include "autograd/ops/unsqueeze.h"
#include "tests/autograd/op_testing.h"

namespace minigpt {
namespace {

using namespace testing;

// The formula in elementary ops: halves of every head are the two coordinates of its pairs.
Variable turned(const Variable& x, const Tensor& cosines, const Tensor& sines, std::int64_t heads) {
  const std::int64_t B = x.dim(0), T = x.dim(1), D = x.dim(2) / heads;
  const std::vector<Variable> halves = split(reshape(x, {B, T, heads, D}), D / 2, 3);
  const Variable c(cosines), s(sines);
  const Variable both = concat({c * halves[0] - s * halves[1], s * halves[0] + c * halves[1]}, 3);
  return reshape(both, {B, T, heads * D});
}

Variable composed(const Variable& qkv, std::int64_t heads, const Tensor& table, std::int64_t first) {
  const std::int64_t T = qkv.dim(1), C = qkv.dim(2) / 3;
  const auto angles = [&](std::int64_t which) {  // (T, 1, D / 2): the same for all heads
    return unsqueeze(slice(select(table.to(qkv.dtype()), 0, which), 0, first, first + T), 1);
  };
  const std::vector<Variable> parts = split(qkv, C, 2);
  const Tensor c = angles(0), s = angles(1);
  return concat({turned(parts[0], c, s, heads), turned(parts[1], c, s, heads), parts[2]}, 2);
}

TEST_CASE("rotary: the first pair turns by one radian a position; the values and position 0 stay") {
  const Tensor table = rotary_table(3, 2);
  const Variable x(Tensor::from<double>({1, 0, 0, 1, 5, 6, 1, 0, 0, 1, 5, 6}, {1, 2, 6}));
  const double c = std::cos(1.0), s = std::sin(1.0);
  const Tensor expected = Tensor::from<double>({1, 0, 0, 1, 5, 6, c, s, -s, c, 5, 6}, {1, 2, 6});
  CHECK(difference(rotary(x, 1, table).value(), expected) < 1e-7);                     // the table is float32
  CHECK(rotary_table(2, 4).to_vector<float>()[3] == doctest::Approx(std::cos(0.01)));  // base^(-2/4) = 1/100
}

TEST_CASE("rotary: derivatives, layouts and composition, from any first position, in both directions") {
  const Tensor table = rotary_table(7, 4);
  for (const std::int64_t first : {0, 4}) {
    CAPTURE(first);
    const Op fused = [&](const std::vector<Variable>& v) { return rotary(v[0], 2, table, first); };
    const Op slow = [&](const std::vector<Variable>& v) { return composed(v[0], 2, table, first); };
    const Op back = [&](const std::vector<Variable>& v) { return rotary(v[0], 2, table, first, true); };
    const std::vector<Variable> in = {leaf({2, 3, 24}, 1)};
    check_layouts(fused, in);
    check_agree(fused, slow, in, 1e-12);
    check_derivatives(fused, in);
    check_derivatives(back, in);
    CHECK(difference(back({fused(in)}).value(), in[0].value()) < 1e-6);
  }
}

TEST_CASE("rotary: what attention sees is the distance of two positions, not where they are") {
  const Tensor table = rotary_table(40, 4);
  const Variable qkv(random({2, 5, 24}, 3));
  const Tensor here = causal_attention(rotary(qkv, 2, table), 2).value();
  CHECK(difference(causal_attention(rotary(qkv, 2, table, 30), 2).value(), here) < 1e-5);
  CHECK(difference(causal_attention(qkv, 2).value(), here) > 1e-3);
}

TEST_CASE("rotary: what does not fit is refused") {
  const Tensor table = rotary_table(4, 4);
  CHECK_THROWS_AS(rotary_table(4, 3), Error);
  CHECK_THROWS_WITH_AS(rotary(leaf({1, 3, 24}, 1), 2, table, 2), doctest::Contains("table of 4"), Error);
  CHECK_THROWS_AS(rotary(leaf({1, 3, 24}, 1), 1, table), Error);  // heads of 8
  CHECK_THROWS_AS(rotary(leaf({1, 3, 25}, 1), 2, table), Error);  // not 3C
  CHECK_THROWS_AS(rotary(leaf({3, 24}, 1), 2, table), Error);     // no batch
  CHECK_THROWS_AS(rotary(leaf({1, 3, 24}, 1), 2, table, -1), Error);
}

}  // namespace
}  // namespace minigpt
