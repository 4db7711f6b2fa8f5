#include "nn/attention/cross_attention.h"

#include "autograd/ops/slice.h"
#include "tests/nn/layer_testing.h"

namespace minigpt {
namespace {

using namespace testing;

TEST_CASE("cross-attention: shapes with two lengths, and gradients of both sequences (S14)") {
  Generator rng(1);
  CrossAttention attention(4, 2, rng);
  const Attention a = attention.forward(Variable(zeros({2, 3, 4})), Variable(zeros({2, 5, 4})));
  CHECK(a.out.shape() == Shape{2, 3, 4});
  CHECK(a.weights.shape() == Shape{2, 2, 3, 5});

  const Tensor mask = padding_mask(std::vector<std::int64_t>{5, 2}, 5);
  const Variable x(random({2, 3, 4}, 1)), context(random({2, 5, 4}, 2));
  for (const Tensor& m : {Tensor(), mask, additive_mask(mask), random({3, 5}, 8)}) {
    check_layer_gradients(attention, {2, 3, 4},
                          [&](const Variable& v) { return attention.forward(v, context, m).out; });
    check_layer_gradients(attention, {2, 5, 4},
                          [&](const Variable& v) { return attention.forward(x, v, m).out; });
  }
  CHECK_THROWS_AS(CrossAttention(4, 3, rng), Error);
}

TEST_CASE("cross-attention: padded places have weight 0 and gradient 0, exactly (S15)") {
  Generator rng(1);
  CrossAttention attention(4, 2, rng);
  convert_parameters(attention, DType::f64);
  const std::vector<std::int64_t> lengths = {5, 2, 0};
  const Variable x = leaf({3, 4, 4}, 1), context = leaf({3, 5, 4}, 2);
  const Tensor mask = padding_mask(lengths, 5);
  const Attention a = attention.forward(x, context, mask);
  const Outcome o = outcome(
      [&](const std::vector<Variable>& v) { return attention.forward(v[0], v[1], mask).out; }, {x, context});
  for (std::int64_t b = 0; b < 3; ++b) {
    const std::int64_t length = lengths[static_cast<std::size_t>(b)];
    CHECK(largest(slice(select(a.weights.value(), 0, b), 2, length, 5)) == 0);
    CHECK(largest(slice(select(o.gradients[1], 0, b), 0, length, 5)) == 0);
    for (std::int64_t s = 0; s < length; ++s) CHECK(a.weights.value().at({b, 0, 0, s}) > 0);
  }
  // The third text has nothing to offer: zeros come back, to which W_o adds its bias, and nothing reaches the query.
  CHECK(largest(select(a.weights.value(), 0, 2)) == 0);
  CHECK(difference(select(a.out.value(), 0, 2), expand(attention.W_o.bias.value(), {4, 4}).contiguous()) ==
        0);
  CHECK(largest(select(o.gradients[0], 0, 2)) == 0);
  for (const Tensor& g : o.gradients) CHECK(all_finite(g));
}

TEST_CASE("a mask (B, T) is no padding mask for scores (B, H, T, T), even where it broadcasts") {
  Generator rng(1);
  const CrossAttention attention(4, 2, rng);
  const Variable x(zeros({3, 5, 4}));
  const Tensor flat = ones({3, 5}, DType::boolean);
  CHECK_THROWS_AS(attention.forward(x, x, flat), Error);
  CHECK_NOTHROW(attention.forward(x, x, reshape(flat, {3, 1, 1, 5})));
}

}  // namespace
}  // namespace minigpt
