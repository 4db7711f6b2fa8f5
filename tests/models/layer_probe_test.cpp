#include "models/layer_probe.h"

#include <doctest/doctest.h>

#include <cmath>

#include "tests/models/tiny_models.h"

namespace minigpt {
namespace {

using test::lively_model;
using test::tiny_config;
using test::tokens_for;

TEST_CASE("probe: a block whose branches are switched off adds nothing") {
  Gpt gpt = lively_model(tiny_config(), 1);
  Block& block = gpt.transformer.h[1];
  for (Linear* layer : {&block.attn.c_proj, &block.mlp.c_proj}) {
    init::zeros_(layer->weight);
    init::zeros_(layer->bias);
  }
  const std::vector<LayerReport> r = probe_layers(gpt, tokens_for(gpt.config, 2, 4));
  REQUIRE(r.size() == 2);
  CHECK(r[0].branch > 0);
  CHECK(r[1].branch == 0);
  CHECK(r[1].residual == r[0].residual);
}

TEST_CASE("probe: units with a bias far below zero are dead, and only those") {
  for (const char* activation : {"relu", "gelu_tanh"}) {
    GptConfig config = tiny_config();
    config.activation = activation;
    Gpt gpt = lively_model(config, 2);
    Linear& fc = gpt.transformer.h[0].mlp.c_fc;
    init::zeros_(fc.weight);
    // z is the bias at every position: 4 of the 16 units far below zero, the others at 1.
    for (std::int64_t i = 0; i < 16; ++i) fc.bias.mutable_value().mutable_data<double>()[i] = i < 4 ? -50 : 1;
    const std::vector<LayerReport> r = probe_layers(gpt, tokens_for(config, 2, 4));
    CAPTURE(activation);
    CHECK(r[0].dead == doctest::Approx(0.25));
    CHECK(r[0].inactive == doctest::Approx(0.25));
  }
}

TEST_CASE("probe: a unit is inactive where its slope is below a hundredth") {
  GptConfig config = tiny_config();
  config.activation = "relu_squared";  // slope 2 z
  Gpt gpt = lively_model(config, 2);
  Linear& fc = gpt.transformer.h[0].mlp.c_fc;
  init::zeros_(fc.weight);
  // Slopes of 0.0098 and 0.0102 beside those of 2.
  const double z[] = {0.0049, 0.0051};
  for (std::int64_t i = 0; i < 16; ++i) fc.bias.mutable_value().mutable_data<double>()[i] = i < 2 ? z[i] : 1;
  CHECK(probe_layers(gpt, tokens_for(config, 2, 4))[0].inactive == doctest::Approx(1 / 16.0));
}

TEST_CASE("probe: entropy is 1 for heads that look evenly, and falls when they choose") {
  Gpt gpt = lively_model(tiny_config(), 3);
  Linear& c_attn = gpt.transformer.h[0].attn.c_attn;
  init::zeros_(c_attn.weight);
  init::zeros_(c_attn.bias);  // all scores 0
  const std::vector<LayerReport> r = probe_layers(gpt, tokens_for(gpt.config, 2, 4));
  REQUIRE(r[0].entropy.size() == 2);
  for (double e : r[0].entropy) CHECK(e == doctest::Approx(1));
  for (double e : r[1].entropy) CHECK(e < 0.9999);
  // A single position has no choice.
  CHECK(probe_layers(gpt, tokens_for(gpt.config, 1, 1))[0].entropy == std::vector<double>{0, 0});
}

}  // namespace
}  // namespace minigpt
