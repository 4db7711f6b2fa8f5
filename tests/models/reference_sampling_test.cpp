// Sampling against PyTorch: greedy continuations, and probabilities after temperature and top-k.

#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "models/sampler.h"
#include "nn/tensor_file.h"
#include "tests/reference_files.h"

namespace minigpt::reference {
namespace {

using nlohmann::json;

Gpt model_of(const json& file, DType dtype) {
  const json& c = file.at("config");
  GptConfig config;
  config.block_size = c.at("block_size");
  config.vocab_size = c.at("vocab_size");
  config.n_layer = c.at("n_layer");
  config.n_head = c.at("n_head");
  config.n_embd = c.at("n_embd");
  config.bias = c.at("bias");
  Generator rng(1);
  Gpt gpt(config, rng);
  convert_parameters(gpt, dtype);
  load_parameters(gpt.parameters(), load_tensors(folder() / file.at("weights").get<std::string>()),
                  "weights");
  return gpt;
}

SampleOptions options_of(const json& entry, double temperature) {
  SampleOptions options;
  options.temperature = temperature;
  if (!entry.at("top_k").is_null()) options.top_k = entry["top_k"];
  return options;
}

void compare(const std::vector<double>& actual, const json& expected, double tolerance) {
  REQUIRE(actual.size() == expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i) {
    const double want = expected[i].get<double>();
    INFO("token " << i << ": " << actual[i] << ", expected " << want);
    CHECK(std::abs(actual[i] - want) <= tolerance);
    CHECK((actual[i] == 0) == (want == 0));
  }
}

std::vector<float> floats(const json& numbers) { return numbers.get<std::vector<float>>(); }

TEST_CASE("reference sampling: greedy text goes on beyond the context as PyTorch's, in both types") {
  const json file = load("sampling.json");
  bool longer_than_block = false;
  for (const DType dtype : {DType::f32, DType::f64}) {
    const Gpt gpt = model_of(file, dtype);
    for (const json& entry : file.at("greedy")) {
      const auto prompt = entry.at("prompt").get<std::vector<std::int32_t>>();
      longer_than_block =
          longer_than_block || static_cast<std::int64_t>(prompt.size()) > gpt.config.block_size;
      SampleOptions greedy;
      greedy.temperature = 0;
      Generator rng(1), untouched(1);
      std::vector<std::int32_t> tokens;
      generate(gpt, prompt, entry.at("new_tokens"), greedy, rng, [&](std::int32_t token) {
        tokens.push_back(token);
        return true;
      });
      CHECK(tokens == entry.at("tokens").get<std::vector<std::int32_t>>());
      CHECK(rng.state() == untouched.state());
    }
  }
  CHECK(longer_than_block);
}

TEST_CASE("reference sampling: the largest logit at every step of the greedy text") {
  const json file = load("sampling.json");
  const Gpt gpt = model_of(file, DType::f64);
  for (const json& entry : file.at("greedy")) {
    auto text = entry.at("prompt").get<std::vector<std::int32_t>>();
    const auto block = static_cast<std::size_t>(gpt.config.block_size);
    for (std::size_t i = 0; i < entry.at("tokens").size(); ++i) {
      const auto context = std::span(text).last(std::min(text.size(), block));
      const auto width = static_cast<std::int64_t>(context.size());
      KvCache cache = gpt.make_cache(1);
      const Tensor logits = gpt.next_logits(Tensor::from<std::int32_t>(context, {1, width}), cache);
      const std::vector<double> values = logits.to_vector<double>();
      const double want = entry.at("top_logits").at(i).get<double>();
      CHECK(std::abs(*std::max_element(values.begin(), values.end()) - want) <=
            1e-12 + 1e-9 * std::abs(want));
      text.push_back(entry["tokens"][i].get<std::int32_t>());
    }
  }
}

TEST_CASE("reference sampling: temperature and top-k") {
  const json file = load("sampling.json");
  const json& distribution = file.at("distribution");
  const Gpt gpt = model_of(file, DType::f32);
  const auto prompt = distribution.at("prompt").get<std::vector<std::int32_t>>();
  KvCache cache = gpt.make_cache(1);
  const Tensor logits = gpt.next_logits(
      Tensor::from<std::int32_t>(prompt, {1, static_cast<std::int64_t>(prompt.size())}), cache);
  const Tensor expected = Tensor::from<float>(floats(distribution.at("logits")), logits.shape());
  CHECK(difference(logits, expected, Kind::result) == "");
  for (const json& entry : distribution.at("cases")) {
    const SampleOptions options = options_of(entry, entry.at("temperature"));
    // From the recorded logits, rounded to float32; probabilities are at most 1, so this is an absolute error.
    compare(next_probabilities(floats(distribution["logits"]), options), entry.at("probs"), 1e-6);
    compare(next_probabilities(logits.to_vector<float>(), options), entry["probs"], 1e-5);
  }
}

TEST_CASE("reference sampling: all tokens that tie with the k-th stay") {
  const json file = load("sampling.json");
  const json& tie = file.at("tie");
  compare(next_probabilities(floats(tie.at("logits")), options_of(tie, 1)), tie.at("probs"), 1e-12);
}

}  // namespace
}  // namespace minigpt::reference
