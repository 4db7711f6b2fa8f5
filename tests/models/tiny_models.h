#pragma once
// Models that are small enough to check element by element, and texts for them.

#include <string>
#include <vector>

#include "autograd/gradcheck.h"
#include "models/gpt.h"
#include "models/train_data.h"
#include "models/trainer.h"

namespace minigpt::test {

inline GptConfig tiny_config() {
  GptConfig config;
  config.block_size = 4;
  config.vocab_size = 5;
  config.n_layer = 2;
  config.n_head = 2;
  config.n_embd = 4;
  config.bias = true;
  return config;
}

// Token ids without pattern, int32 (B, T).
inline Tensor tokens_for(const GptConfig& config, std::int64_t B, std::int64_t T, std::uint64_t seed = 1) {
  Generator rng(seed);
  std::vector<std::int32_t> ids(static_cast<std::size_t>(B * T));
  rng.randint(std::span<std::int32_t>(ids), 0, config.vocab_size);
  return Tensor::from<std::int32_t>(ids, {B, T});
}

// A float64 model with weights, biases and gains far from their initial values, so that no gradient is tiny.
inline Gpt lively_model(const GptConfig& config, std::uint64_t seed) {
  Generator rng(seed);
  Gpt gpt(config, rng);
  convert_parameters(gpt, DType::f64);
  for (NamedParameter& p : gpt.parameters()) init::uniform_(p.variable, -0.9, 0.9, rng);
  return gpt;
}

// A text of `n` characters a..h without pattern.
inline std::u32string random_text(std::size_t n, std::uint64_t seed = 1) {
  Generator rng(seed);
  std::u32string text;
  for (std::size_t i = 0; i < n; ++i) text += U"abcdefgh"[rng.randint(0, 8)];
  return text;
}

// A run of a second or less.
inline TrainConfig tiny_run() {
  TrainConfig config;
  config.model = tiny_config();
  config.model.block_size = 8;
  config.model.n_embd = 16;
  config.model.dropout = 0.2;
  config.batch_size = 3;
  config.steps = 20;
  config.warmup_steps = 5;
  config.lr_decay_steps = 40;
  config.eval_every = 5;
  config.eval_batches = 2;
  config.eval_mode = "batches";
  config.save_every = 1000;
  return config;
}

// Text, tokenizer and data for a run.
struct TinyData {
  std::u32string text;
  CharTokenizer tokenizer;
  TrainData data;
  explicit TinyData(const TrainConfig& config, std::u32string t = random_text(400))
      : text(std::move(t)),
        tokenizer(CharTokenizer::from_text(text, config.documents)),
        data(config, tokenizer, text, "text") {}
};

// Keeps all reports.
struct Recorder : TrainListener {
  std::vector<StepReport> steps;
  std::vector<EvalReport> evaluations;
  std::vector<std::int64_t> saves;
  void on_step(const StepReport& report) override { steps.push_back(report); }
  void on_evaluation(const EvalReport& report) override { evaluations.push_back(report); }
  void on_save(std::int64_t step) override { saves.push_back(step); }
};

// All weights of a model, one after the other.
inline std::vector<float> weights_of(Gpt& gpt) {
  std::vector<float> all;
  for (const NamedParameter& p : gpt.parameters()) {
    const std::vector<float> values = p.variable.value().to_vector<float>();
    all.insert(all.end(), values.begin(), values.end());
  }
  return all;
}

}  // namespace minigpt::test
