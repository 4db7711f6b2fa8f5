// MultiHeadAttention beyond the cases of modules.json.

#include "nn/attention/multi_head_attention.h"

#include "tests/nn/layer_testing.h"

namespace minigpt {
namespace {

using namespace testing;

// Hidden keys: the last of text 0, all of text 1.
Tensor padding() { return bools({false, false, true, true, true, true}, {2, 3}); }

TEST_CASE("multi-head attention: gradients with every kind of mask, with fixed dropout, and without biases") {
  Generator rng(1);
  FixedDropout dropout;
  const Tensor upper = logical_not(causal_mask(3));
  const HiddenMasks cases[] = {
      {},
      {.attn_mask = upper},
      {.attn_mask = random({3, 3}, 4)},
      {.attn_mask = random({4, 3, 3}, 4)},
      {.key_padding_mask = padding()},
      {.attn_mask = upper, .key_padding_mask = padding()},
      {.attn_mask = random({3, 3}, 5), .key_padding_mask = padding(), .causal = true}};
  for (const bool bias : {true, false}) {
    MultiHeadAttention attention(4, 2, 0.3, bias, rng);
    CHECK(parameter_names(attention).size() == (bias ? 4u : 2u));
    for (const HiddenMasks& masks : cases) {
      check_layer_gradients(attention, {2, 3, 4},
                            [&](const Variable& x) { return attention.forward(x, x, x, masks).out; });
      check_layer_gradients(attention, {2, 3, 4},
                            [&](const Variable& x) { return attention.forward(x, x, x, masks).weights; });
      check_layer_gradients(attention, {2, 3, 4}, [&](const Variable& x) {
        return attention.forward(x, x, x, masks, dropout.fixed()).out;
      });
    }
  }
}

TEST_CASE("multi-head attention: true = hidden, in both masks; causal is the upper triangle") {
  Generator rng(1);
  MultiHeadAttention attention(4, 2, 0.0, true, rng);
  const Variable x(random({2, 3, 4}, 1, DType::f32));
  const Tensor upper = logical_not(causal_mask(3));
  const auto weights = [&](const HiddenMasks& masks) {
    return attention.forward(x, x, x, masks, {}, WeightsOf::each_head).weights.value();
  };
  CHECK(weights({.attn_mask = upper}).at({0, 0, 0, 2}) == 0);
  CHECK(weights({.attn_mask = upper}).at({0, 0, 2, 0}) > 0);
  CHECK(difference(weights({.attn_mask = upper}), weights({.causal = true})) == 0);
  CHECK(weights({.key_padding_mask = padding()}).at({0, 1, 0, 2}) == 0);
  CHECK(weights({.key_padding_mask = padding()}).at({0, 1, 0, 1}) > 0);
  // A mask of its own for each text and head: (B * H, T, S), as PyTorch has it, and (B, H, T, S).
  const Tensor each = random({4, 3, 3}, 7, DType::f32);
  CHECK(difference(weights({.attn_mask = each}), weights({.attn_mask = reshape(each, {2, 2, 3, 3})})) == 0);
}

TEST_CASE("multi-head attention: weights of each head, their mean, or none; with or without a batch") {
  Generator rng(1);
  MultiHeadAttention attention(4, 2, 0.0, true, rng);
  const Variable x(random({2, 3, 4}, 1, DType::f32));
  const Attention each = attention.forward(x, x, x, {}, {}, WeightsOf::each_head),
                  mean_of = attention.forward(x, x, x);
  CHECK(each.weights.shape() == Shape{2, 2, 3, 3});
  CHECK(difference(mean(each.weights, {1}).value(), mean_of.weights.value()) == 0);
  CHECK(!attention.forward(x, x, x, {}, {}, WeightsOf::nobody).weights.defined());
  const Variable one(select(x.value(), 0, 1));
  const HiddenMasks masks = {.key_padding_mask = bools({false, true, false}, {3})};
  const HiddenMasks batched = {.key_padding_mask = bools({false, true, false, false, true, false}, {2, 3})};
  CHECK(difference(attention.forward(one, one, one, masks).out.value(),
                   select(attention.forward(x, x, x, batched).out.value(), 0, 1)) < 1e-6);
}

TEST_CASE("multi-head attention: a query that may look at nothing gives zeros and no gradient") {
  Generator rng(1);
  MultiHeadAttention attention(4, 2, 0.0, true, rng);
  convert_parameters(attention, DType::f64);
  const HiddenMasks masks = {.key_padding_mask = padding()};
  const Variable x = leaf({2, 3, 4}, 1);
  const Attention a = attention.forward(x, x, x, masks);
  CHECK(largest(select(a.weights.value(), 0, 1)) == 0);
  CHECK(largest(select(a.out.value(), 0, 1)) == 0);  // out_proj's bias starts at 0
  const Outcome o = outcome(
      [&](const std::vector<Variable>& v) { return attention.forward(v[0], v[0], v[0], masks).out; }, {x});
  CHECK(largest(select(o.gradients[0], 0, 1)) == 0);
  CHECK(all_finite(o.gradients[0]));
}

TEST_CASE("multi-head attention: errors name what does not fit") {
  Generator rng(1);
  CHECK_THROWS_WITH_AS(MultiHeadAttention(10, 3, 0.0, true, rng),
                       doctest::Contains("10 channels cannot be split into 3 heads"), Error);
  const MultiHeadAttention attention(4, 2, 0.0, true, rng);
  const Variable x(zeros({2, 3, 4}));
  CHECK_THROWS_AS(attention.forward(x, x, x, {.attn_mask = ones({2, 2}, DType::boolean)}), Error);
  CHECK_THROWS_AS(attention.forward(x, x, x, {.key_padding_mask = ones({2, 2}, DType::boolean)}), Error);
  CHECK_THROWS_AS(attention.forward(x, x, x, {.key_padding_mask = ones({2, 1, 3}, DType::boolean)}), Error);
  CHECK_THROWS_AS(attention.forward(x, x, Variable(zeros({2, 4, 4}))), Error);
}

}  // namespace
}  // namespace minigpt
