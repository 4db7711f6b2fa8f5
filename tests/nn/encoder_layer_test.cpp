// Encoder and decoder layers beyond the cases of modules.json.

#include "nn/encoder_layer.h"

#include "autograd/ops/sum.h"
#include "nn/decoder_layer.h"
#include "tests/nn/layer_testing.h"

namespace minigpt {
namespace {

using namespace testing;

// A small layer. GELU has no kink, at which finite differences would go wrong.
TransformerLayerOptions small(bool norm_first, double dropout) {
  return {.d_model = 4,
          .nhead = 2,
          .dim_feedforward = 6,
          .dropout = dropout,
          .activation = Activation::gelu_erf,
          .norm_first = norm_first};
}

// The last key of text 0, and all keys of text 1.
Tensor padding() { return bools({false, false, true, true, true, true}, {2, 3}); }

TEST_CASE("TransformerEncoderLayer: gradients with masks and fixed dropout, pre-norm and post-norm") {
  Generator rng(1);
  FixedDropout dropout;
  const HiddenMasks cases[] = {{}, {.causal = true}, {.key_padding_mask = padding(), .causal = true}};
  for (const bool norm_first : {false, true}) {
    TransformerEncoderLayer layer(small(norm_first, 0.3), rng);
    for (const HiddenMasks& masks : cases) {
      check_layer_gradients(layer, {2, 3, 4}, [&](const Variable& x) { return layer.forward(x, masks); });
      check_layer_gradients(layer, {2, 3, 4},
                            [&](const Variable& x) { return layer.forward(x, masks, dropout.fixed()); });
    }
  }
}

TEST_CASE("TransformerDecoderLayer: gradients of what is written and of the memory, with masks and dropout") {
  Generator rng(2);
  FixedDropout dropout;
  const Variable x(random({2, 2, 4}, 1)), memory(random({2, 3, 4}, 2));
  const HiddenMasks own = {.causal = true}, theirs = {.key_padding_mask = padding()};
  for (const bool norm_first : {false, true}) {
    TransformerDecoderLayer layer(small(norm_first, 0.3), rng);
    check_layer_gradients(layer, {2, 2, 4},
                          [&](const Variable& v) { return layer.forward(v, memory, own, theirs); });
    check_layer_gradients(layer, {2, 3, 4}, [&](const Variable& v) {
      return layer.forward(x, v, own, theirs, dropout.fixed());
    });
  }
}

TEST_CASE("stacks: gradients, names, and a final norm") {
  Generator rng(3);
  for (const bool norm : {false, true}) {
    TransformerEncoder encoder(small(true, 0), 2, norm, rng);
    CHECK(parameter_names(encoder).front() == "layers.0.self_attn.in_proj_weight");
    CHECK(parameter_names(encoder).back() == (norm ? "norm.bias" : "layers.1.norm2.bias"));
    check_layer_gradients(encoder, {1, 3, 4},
                          [&](const Variable& x) { return encoder.forward(x, {.causal = true}); });
    TransformerDecoder decoder(small(false, 0), 2, norm, rng);
    CHECK(parameter_names(decoder).back() == (norm ? "norm.bias" : "layers.1.norm3.bias"));
    const Variable memory(random({1, 5, 4}, 2));
    check_layer_gradients(decoder, {1, 3, 4},
                          [&](const Variable& x) { return decoder.forward(x, memory, {.causal = true}); });
  }
}

TEST_CASE("padded places have no influence on a loss over the others, and get no gradient (S15)") {
  Generator rng(4);
  TransformerEncoder encoder(small(true, 0), 2, true, rng);
  convert_parameters(encoder, DType::f64);
  const HiddenMasks masks = {.key_padding_mask = bools({false, false, false, true, true}, {1, 5})};
  const auto loss_of = [&](const Variable& x) {
    const Variable y = slice(encoder.forward(x, masks), 1, 0, 3);  // the three real words
    return sum(y * y * y);
  };
  const Tensor x = random({1, 5, 4}, 1);
  Tensor other = x.clone();
  slice(other, 1, 3, 5).fill_(5);
  CHECK(loss_of(Variable(x)).item() == loss_of(Variable(other)).item());
  const Variable in(x, true);
  loss_of(in).backward();
  CHECK(largest(slice(in.grad().value(), 1, 3, 5)) == 0);
  CHECK(largest(slice(in.grad().value(), 1, 0, 3)) > 0);
}

Tensor steps(double from, double to, const Shape& shape) {
  const std::int64_t n = numel(shape);
  std::vector<float> values;
  for (std::int64_t i = 0; i < n; ++i)
    values.push_back(
        static_cast<float>(from + (to - from) * static_cast<double>(i) / static_cast<double>(n - 1)));
  return Tensor::from<float>(values, shape);
}

// The first numbers of x, from `at` on.
std::vector<double> numbers(const Variable& x, std::size_t at, std::size_t count) {
  const std::vector<float> all = x.value().to_vector<float>();
  return {all.begin() + static_cast<std::ptrdiff_t>(at),
          all.begin() + static_cast<std::ptrdiff_t>(at + count)};
}

void check_close(const std::vector<double>& actual, const std::vector<double>& wanted) {
  REQUIRE(actual.size() == wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) CHECK(std::abs(actual[i] - wanted[i]) < 2e-6);
}

TEST_CASE("the same seed gives PyTorch's weights, and in training PyTorch's dropout") {
  // Numbers of PyTorch 1.13 after torch.manual_seed(11):
  Generator rng(11);
  const MultiHeadAttention attention(8, 2, 0, true, rng);  // nn.MultiheadAttention(8, 2)
  check_close(numbers(attention.in_proj_weight, 0, 3), {0.076532, 0.259993, 0.036232});
  check_close(numbers(attention.out_proj.weight, 0, 3), {-0.248165, -0.009508, 0.343415});
  rng.seed(11);
  const TransformerEncoderLayer encoder({.d_model = 8, .nhead = 2, .dim_feedforward = 12}, rng);
  check_close(numbers(encoder.linear1.weight, 0, 3), {-0.021636, -0.337178, 0.215926});
  check_close(numbers(encoder.linear2.bias, 0, 3), {-0.206661, -0.094218, -0.112420});
  rng.seed(11);
  const TransformerDecoderLayer decoder({.d_model = 8, .nhead = 2, .dim_feedforward = 12}, rng);
  check_close(numbers(decoder.multihead_attn.in_proj_weight, 0, 3), {-0.057418, -0.295332, -0.113648});
  check_close(numbers(decoder.linear2.bias, 0, 3), {-0.139211, 0.093096, 0.094204});

  // One pass in training mode, dropout 0.3, over torch.linspace(-1, 1, 48).reshape(2, 3, 8).
  DropoutStream stream = DropoutStream::torch(rng);
  Mode training;
  training.training = true;
  training.dropout = &stream;
  const Variable x(steps(-1, 1, {2, 3, 8})), memory(steps(1, -1, {2, 4, 8}));
  rng.seed(5);
  const TransformerEncoderLayer first({.d_model = 8, .nhead = 2, .dim_feedforward = 12, .dropout = 0.3}, rng);
  check_close(numbers(first.forward(x, {}, training), 0, 4), {-0.742330, -0.263073, -1.124136, -1.352999});
  rng.seed(6);
  const TransformerDecoderLayer second({.d_model = 8,
                                        .nhead = 2,
                                        .dim_feedforward = 12,
                                        .dropout = 0.3,
                                        .activation = Activation::gelu_erf,
                                        .norm_first = true},
                                       rng);
  check_close(numbers(second.forward(x, memory, {}, {}, training), 40, 4),
              {0.470688, 0.983915, 1.895811, 0.915056});
}

}  // namespace
}  // namespace minigpt
