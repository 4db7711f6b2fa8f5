// Causal attention: one head, several stacked, and several at once.

#include "nn/attention/causal_attention.h"

#include <set>

#include "autograd/ops/add.h"
#include "autograd/ops/slice.h"
#include "nn/attention/cross_attention.h"
#include "nn/attention/multi_head_attention_wrapper.h"
#include "nn/attention/multi_head_causal_attention.h"
#include "tests/nn/attention/six_words.h"
#include "tests/nn/layer_testing.h"

namespace minigpt {
namespace {

using namespace testing;

// The six words twice: (2, 6, 3).
Variable batch() { return Variable(expand(six_words(), {2, 6, 3}).contiguous()); }

// Nothing that comes later has an influence, in value or in gradient.
template <class M>
void check_causal(const M& layer, std::int64_t width) {
  const Tensor x = random({2, 5, width}, 3, DType::f64);
  for (std::int64_t t = 0; t < 5; ++t) {
    Tensor changed = x.clone();
    if (t < 4) slice(changed, 1, t + 1, 5).fill_(7);
    const Variable input(x, true);
    const Variable out = slice(layer.forward(input).out, 1, 0, t + 1);
    CHECK(difference(out.value(), slice(layer.forward(Variable(changed)).out.value(), 1, 0, t + 1)) == 0);
    const Outcome o = outcome([&](const std::vector<Variable>&) { return out; }, {input});
    CHECK(largest(slice(o.gradients[0], 1, t + 1, 5)) == 0);
  }
}

TEST_CASE("causal attention: the book's numbers for seed 123 (S9)") {
  Generator rng(123);
  CausalAttention attention(3, 2, 0.0, false, rng);
  const Attention a = attention.forward(batch());
  CHECK(a.out.shape() == Shape{2, 6, 2});
  CHECK(a.weights.shape() == Shape{2, 6, 6});
  CHECK(row(a.out, 0) == std::vector<std::string>{"-0.4519", "0.2216"});
  CHECK(difference(slice(a.out.value(), 0, 0, 1), slice(a.out.value(), 0, 1, 2)) == 0);
}

TEST_CASE("causal attention: gradients, with and without dropout on the weights; no look ahead") {
  Generator rng(1);
  FixedDropout masks;
  for (const bool bias : {false, true}) {
    CausalAttention attention(3, 2, 0.4, bias, rng);
    check_layer_gradients(attention, {2, 4, 3}, [&](const Variable& x) { return attention.forward(x).out; });
    check_layer_gradients(attention, {2, 4, 3},
                          [&](const Variable& x) { return attention.forward(x, masks.fixed()).out; });
    check_causal(attention, 3);
    const Variable x(random({2, 4, 3}, 2));
    CHECK(difference(attention.forward(x, masks.fixed()).out.value(), attention.forward(x).out.value()) >
          0.01);
  }
}

TEST_CASE("causal attention: PyTorch's dropout, drawn after the weights (S8, S9)") {
  // PyTorch 1.13 after torch.manual_seed(123), in training with p = 0.5.
  Generator rng(123);
  const CausalAttention attention(3, 2, 0.5, false, rng);
  DropoutStream stream = DropoutStream::torch(rng);
  Mode mode;
  mode.training = true;
  mode.dropout = &stream;
  const Variable out = attention.forward(batch(), mode).out;
  CHECK(row(out, 0) == std::vector<std::string>{"-0.9038", "0.4432"});
  CHECK(row(out, 5) == std::vector<std::string>{"-0.1417", "-0.0505"});
}

TEST_CASE("stacked heads: the book's numbers for seed 123 (S10)") {
  Generator rng(123);
  MultiHeadAttentionWrapper attention(3, 2, 2, 0.0, false, rng);
  const Attention a = attention.forward(batch());
  CHECK(a.out.shape() == Shape{2, 6, 4});
  CHECK(a.weights.shape() == Shape{2, 2, 6, 6});
  CHECK(row(a.out, 0) == std::vector<std::string>{"-0.4519", "0.2216", "0.4772", "0.1063"});
  CHECK(parameter_names(attention).front() == "heads.0.W_query.weight");

  FixedDropout masks;
  MultiHeadAttentionWrapper other(3, 2, 2, 0.3, true, rng);
  check_layer_gradients(other, {2, 3, 3},
                        [&](const Variable& x) { return other.forward(x, masks.fixed()).out; });
  check_causal(other, 3);
  CHECK_THROWS_AS(MultiHeadAttentionWrapper(3, 2, 0, 0.0, false, rng), Error);
}

TEST_CASE("all heads at once: the book's numbers for seed 123, and the shapes on the way (S11)") {
  Generator rng(123);
  MultiHeadCausalAttention attention(3, 2, 2, 0.0, false, rng);
  const Attention a = attention.forward(batch());
  CHECK(a.out.shape() == Shape{2, 6, 2});
  CHECK(a.weights.shape() == Shape{2, 2, 6, 6});
  CHECK(row(a.out, 0) == std::vector<std::string>{"0.3190", "0.4858"});

  const Variable x(random({2, 4, 8}, 1));
  CHECK(split_heads(x, 2).shape() == Shape{2, 2, 4, 4});
  CHECK(difference(merge_heads(split_heads(x, 2)).value(), x.value()) == 0);
  CHECK_THROWS_WITH_AS(split_heads(x, 3), doctest::Contains("(2, 4, 8) cannot be split into 3 heads"), Error);

  FixedDropout masks;
  MultiHeadCausalAttention other(3, 4, 2, 0.3, true, rng);
  check_layer_gradients(other, {2, 3, 3},
                        [&](const Variable& v) { return other.forward(v, masks.fixed()).out; });
  check_causal(other, 3);
  CHECK_THROWS_AS(MultiHeadCausalAttention(3, 4, 3, 0.0, false, rng), Error);
}

// Rows h D .. (h + 1) D - 1 of `all` become those of `one`.
void copy_rows(const Variable& one, Variable& all, std::int64_t h) {
  const std::int64_t D = one.dim(0);
  slice(all.mutable_value(), 0, h * D, (h + 1) * D).copy_(one.value());
}

TEST_CASE("stacked heads and all heads at once are the same function, for copied weights (S10 = S11)") {
  Generator rng(5);
  for (const std::int64_t H : {1, 2, 4}) {
    for (const bool bias : {false, true}) {
      CAPTURE(H);
      CAPTURE(bias);
      const std::int64_t D = 3, d_in = 8;
      MultiHeadAttentionWrapper stacked(d_in, D, H, 0.0, bias, rng);
      MultiHeadCausalAttention together(d_in, H * D, H, 0.0, bias, rng);
      for (std::int64_t h = 0; h < H; ++h) {
        const CausalAttention& head = stacked.heads[static_cast<std::size_t>(h)];
        copy_rows(head.W_query.weight, together.W_query.weight, h);
        copy_rows(head.W_key.weight, together.W_key.weight, h);
        copy_rows(head.W_value.weight, together.W_value.weight, h);
        if (!bias) continue;
        copy_rows(head.W_query.bias, together.W_query.bias, h);
        copy_rows(head.W_key.bias, together.W_key.bias, h);
        copy_rows(head.W_value.bias, together.W_value.bias, h);
      }
      together.out_proj.weight.mutable_value().copy_(eye(H * D));
      together.out_proj.bias.mutable_value().fill_(0);
      const Variable x(random({2, 7, d_in}, 1, DType::f32));
      const Attention a = stacked.forward(x), b = together.forward(x);
      CHECK(difference(a.out.value(), b.out.value()) < 1e-6);
      CHECK(difference(a.weights.value(), b.weights.value()) < 1e-6);
    }
  }
}

// x = x + layer(x) twice, all positions at once.
Variable twice(const std::vector<CrossAttention>& layers, Variable x, const Tensor& mask) {
  for (const CrossAttention& layer : layers) x = x + layer.forward(x, x, mask).out;
  return x;
}

TEST_CASE("a prompt needs the mask, single steps with a cache do not (S13)") {
  Generator rng(3);
  std::vector<CrossAttention> layers;
  for (int i = 0; i < 2; ++i) {
    layers.emplace_back(8, 2, rng);
    convert_parameters(layers.back(), DType::f64);
  }
  const std::int64_t T = 7;
  const Variable x(random({1, T, 8}, 1));
  const auto last = [&](const Variable& y) { return slice(y.value(), 1, T - 1, T); };
  const Variable masked = twice(layers, x, causal_mask(T)), open = twice(layers, x, Tensor());
  // One layer: the last position may look everywhere anyway. Two: it looks at positions that have looked ahead.
  const std::vector<CrossAttention> one = {layers[0]};
  CHECK(difference(last(twice(one, x, causal_mask(T))), last(twice(one, x, Tensor()))) < 1e-15);
  CHECK(difference(last(masked), last(open)) > 1e-3);
  // Position by position, each layer remembering what it was given: no mask, and the masked result.
  std::vector<Variable> seen(2), rows;
  for (std::int64_t t = 0; t < T; ++t) {
    Variable y = slice(x, 1, t, t + 1);
    for (std::size_t i = 0; i < 2; ++i) {
      seen[i] = t == 0 ? y : concat({seen[i], y}, 1);
      y = y + layers[i].forward(y, seen[i]).out;
    }
    rows.push_back(y);
  }
  CHECK(difference(concat(rows, 1).value(), masked.value()) < 1e-14);
}

TEST_CASE("heads do not add parameters (S12)") {
  Generator rng(1);
  std::set<std::int64_t> counts;
  for (const std::int64_t H : {1, 2, 4, 8}) {
    MultiHeadCausalAttention attention(16, 16, H, 0.0, false, rng);
    counts.insert(parameter_count(named_parameters(attention)));
  }
  CHECK(counts == std::set<std::int64_t>{4 * 16 * 16 + 16});
}

}  // namespace
}  // namespace minigpt
