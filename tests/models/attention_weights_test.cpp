#include "models/attention_weights.h"

#include <doctest/doctest.h>

#include "autograd/ops/reshape.h"
#include "autograd/ops/slice.h"
#include "autograd/ops/transpose.h"
#include "tensor/reduce.h"
#include "tests/models/tiny_models.h"

namespace minigpt::test {
namespace {

// What the fused attention of every layer gave, from its weights instead: c_proj(heads merged of weights v).
void check_against_fused(const GptConfig& config) {
  const Gpt gpt = lively_model(config, 3);
  const Tensor tokens = tokens_for(config, 2, config.block_size);
  std::vector<Tensor> outputs(gpt.transformer.h.size()), inputs(outputs);
  const std::function<void(const char*, const Variable&)> observe = [&](const char* path, const Variable& y) {
    for (std::size_t i = 0; i < outputs.size(); ++i)
      if (std::string_view(path) == gpt.transformer.h[i].attn.path) outputs[i] = y.value();
    for (std::size_t i = 0; i < outputs.size(); ++i)
      if (std::string_view(path) == (i == 0 ? "transformer.drop" : gpt.transformer.h[i - 1].path))
        inputs[i] = y.value();
  };
  Mode mode;
  mode.observe = &observe;
  const Tensor logits = gpt.forward(tokens, mode).value();

  const std::vector<Tensor> weights = attention_weights(gpt, tokens);
  REQUIRE(weights.size() == outputs.size());
  const std::int64_t B = 2, T = config.block_size, C = config.n_embd, H = config.n_head;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    CAPTURE(i);
    REQUIRE(weights[i].shape() == Shape{B, H, T, T});
    const CausalSelfAttention& attn = gpt.transformer.h[i].attn;
    const Variable qkv = attn.c_attn.forward(gpt.transformer.h[i].ln_1.forward(Variable(inputs[i])));
    const Variable v = transpose(reshape(slice(qkv, 2, 2 * C, 3 * C), {B, T, H, C / H}), 1, 2);
    const Variable merged = reshape(transpose(matmul(Variable(weights[i]), v), 1, 2), {B, T, C});
    CHECK(max(attn.c_proj.forward(merged).value() - outputs[i]).item() < 1e-12);
    CHECK(min(attn.c_proj.forward(merged).value() - outputs[i]).item() > -1e-12);
  }
  // Looking changed nothing.
  CHECK(gpt.forward(tokens).value().to_vector<double>() == logits.to_vector<double>());
}

TEST_CASE("attention weights: times the values, they give what the fused attention gave") {
  GptConfig config = tiny_config();
  config.n_embd = 8;
  config.n_layer = 3;
  config.block_size = 6;
  SUBCASE("learned positions") {}
  SUBCASE("rotary positions, normalised queries and keys") {
    config.positions = "rotary";
    config.qk_norm = true;
  }
  SUBCASE("RMS norm without bias") {
    config.norm = "rms";
    config.bias = false;
  }
  check_against_fused(config);
}

TEST_CASE("V-04: attention weights: rows add up to 1, and the future has exactly 0") {
  const GptConfig config = tiny_config();
  for (const Tensor& layer : attention_weights(lively_model(config, 1), tokens_for(config, 2, 4))) {
    const Tensor sums = sum(layer, {-1});
    CHECK(max(sums).item() == doctest::Approx(1));
    CHECK(min(sums).item() == doctest::Approx(1));
    for (std::int64_t i = 0; i < 4; ++i)
      for (std::int64_t j = i + 1; j < 4; ++j) CHECK(layer.at({1, 1, i, j}) == 0);
  }
}

TEST_CASE("attention weights: too long a text is refused as in a forward pass") {
  const GptConfig config = tiny_config();
  CHECK_THROWS_WITH_AS(attention_weights(lively_model(config, 1), tokens_for(config, 1, 5)),
                       "[gpt] 5 positions, but the context holds 1 to 4", Error);
}

}  // namespace
}  // namespace minigpt::test
