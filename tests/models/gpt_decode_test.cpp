// The decoder is the model: the same logits, position by position.
#include "models/gpt_decode.h"

#include <doctest/doctest.h>

#include "tensor/views.h"
#include "tests/models/tiny_models.h"
#include "tests/tensor/row_testing.h"

namespace minigpt {
namespace {

using testing::bitwise_equal;
using testing::for_each_kernel_set;
using testing::values;
using testing::worst_error;

GptConfig config_with(const std::string& activation, bool bias, const std::string& norm) {
  GptConfig config = test::tiny_config();
  config.block_size = 20;  // more than one group of keys
  config.n_embd = 12;
  config.n_head = 3;
  config.activation = activation;
  config.bias = bias;
  config.norm = norm;
  return config;
}

const std::vector<GptConfig> kConfigs = {
    config_with("gelu", true, "layer"), config_with("relu_squared", false, "rms"),
    config_with("silu", false, "layer"), config_with("gelu_tanh", true, "rms")};

std::vector<std::int32_t> row_of(const Tensor& tokens, std::int64_t b) {
  return slice(tokens, 0, b, b + 1).to_vector<std::int32_t>();
}

// Largest difference between what the decoder says after each of T tokens and the model's logits, for B texts that grow
// side by side.
double worst_step(const Gpt& gpt, GptDecoder& decoder, const Tensor& tokens) {
  const std::int64_t B = tokens.dim(0), T = tokens.dim(1);
  const Tensor expected = gpt.forward(tokens).value();  // (B, T, V)
  std::vector<KvCache> caches;
  for (std::int64_t b = 0; b < B; ++b) caches.push_back(decoder.make_cache());
  std::vector<KvCache*> all;
  for (KvCache& cache : caches) all.push_back(&cache);
  double worst = 0;
  for (std::int64_t t = 0; t < T; ++t) {
    const auto column = select(tokens, 1, t).contiguous().to_vector<std::int32_t>();
    worst = std::max(worst, worst_error(values(decoder.step(column, all)), values(select(expected, 1, t))));
  }
  return worst;
}

TEST_CASE("decoder: step by step, one text or three, the logits are those of the model") {
  for (const GptConfig& config : kConfigs) {
    CAPTURE(config.activation);
    Gpt gpt = test::lively_model(config, 3);
    for (const DType dtype : {DType::f64, DType::f32}) {
      convert_parameters(gpt, dtype);
      for_each_kernel_set([&] {
        for (const std::int64_t B : {1, 3}) {
          GptDecoder decoder(gpt);
          CHECK(worst_step(gpt, decoder, test::tokens_for(config, B, config.block_size)) <
                (dtype == DType::f64 ? 1e-12 : 1e-4));
        }
      });
    }
  }
}

TEST_CASE("decoder: a window has the logits of its last position, and fills a cache that steps go on from") {
  for (const GptConfig& config : kConfigs) {
    const Gpt gpt = test::lively_model(config, 4);
    GptDecoder decoder(gpt);
    const Tensor tokens = test::tokens_for(config, 1, config.block_size);
    const std::vector<std::int32_t> text = row_of(tokens, 0);
    const Tensor expected = gpt.forward(tokens).value();
    KvCache cache = decoder.make_cache();
    KvCache* const caches[] = {&cache};
    for (std::size_t n = 1; n < text.size(); ++n) {
      const auto at = [&](std::size_t t) {
        return values(select(expected, 1, static_cast<std::int64_t>(t)));
      };
      const std::span<const std::int32_t> seen(text.data(), n);
      CHECK(worst_error(values(decoder.window(seen, nullptr)), at(n - 1)) < 1e-12);
      CHECK(worst_error(values(decoder.window(seen, &cache)), at(n - 1)) < 1e-12);
      CHECK(cache.length() == static_cast<std::int64_t>(n));
      CHECK(worst_error(values(decoder.step({&text[n], 1}, caches)), at(n)) < 1e-12);
    }
  }
}

TEST_CASE("decoder: a text has the same bits alone and beside others of other lengths") {
  const GptConfig& config = kConfigs[0];
  Gpt gpt = test::lively_model(config, 5);
  convert_parameters(gpt, DType::f32);
  const Tensor tokens = test::tokens_for(config, 3, 10);
  const std::int32_t next[] = {1, 2, 3};
  GptDecoder decoder(gpt);
  std::vector<KvCache> caches;
  for (std::int64_t b = 0; b < 3; ++b) {
    caches.push_back(decoder.make_cache());
    const std::vector<std::int32_t> text = row_of(tokens, b);
    decoder.window({text.data(), static_cast<std::size_t>(3 * b + 2)}, &caches.back());
  }
  std::vector<Tensor> alone;
  for (std::size_t b = 0; b < 3; ++b) {
    KvCache copy = caches[b];
    for (KvCache::Layer& layer : copy.layers) {
      layer.keys = layer.keys.clone();
      layer.values = layer.values.clone();
    }
    KvCache* const one[] = {&copy};
    alone.push_back(decoder.step({&next[b], 1}, one).clone());
  }
  KvCache* const all[] = {&caches[0], &caches[1], &caches[2]};
  const Tensor together = decoder.step(next, all);
  for (std::int64_t b = 0; b < 3; ++b)
    CHECK(bitwise_equal(slice(together, 0, b, b + 1).contiguous(), alone[static_cast<std::size_t>(b)]));
}

TEST_CASE(
    "decoder: with bfloat16 weights it is the model whose matrices were rounded, and close to the original") {
  const GptConfig& config = kConfigs[0];
  Generator rng(6);
  Gpt gpt(config, rng);
  const Tensor tokens = test::tokens_for(config, 2, config.block_size);
  const std::vector<double> original = values(gpt.forward(tokens).value());
  gpt.transformer.ln_f.layer.weight.mutable_value().fill_(1.001);  // bfloat16 has no such number
  round_matrices(gpt);
  CHECK(gpt.transformer.ln_f.layer.weight.value().at({0}) == static_cast<double>(1.001F));
  gpt.transformer.ln_f.layer.weight.mutable_value().fill_(1);
  CHECK(worst_error(values(gpt.forward(tokens).value()), original) < 0.02);
  GptDecoder decoder(gpt, DType::bf16);
  CHECK(worst_step(gpt, decoder, tokens) < 1e-5);
}

TEST_CASE("decoder: what it cannot do is refused") {
  const Gpt gpt = test::lively_model(test::tiny_config(), 1);
  CHECK_THROWS_WITH_AS(GptDecoder(gpt, DType::bf16),
                       doctest::Contains("a float64 model cannot be read as bfloat16"), Error);
  GptDecoder decoder(gpt);
  KvCache cache = decoder.make_cache();
  KvCache* const caches[] = {&cache};
  const std::int32_t token = 1, unknown = 5;
  const std::vector<std::int32_t> five(5, 1);
  CHECK_THROWS_WITH_AS(decoder.window(five, &cache),
                       doctest::Contains("5 positions, but the context holds 1 to 4"), Error);
  CHECK_THROWS_AS(decoder.step({&unknown, 1}, caches), Error);
  CHECK_THROWS_AS(decoder.step({}, {}), Error);
  for (int t = 0; t < 4; ++t) decoder.step({&token, 1}, caches);
  CHECK_THROWS_AS(decoder.step({&token, 1}, caches), Error);
}

}  // namespace
}  // namespace minigpt
