#pragma once
// A small run as it lies in its folder, to damage and to mix up.

#include <doctest/doctest.h>

#include <fstream>
#include <span>
#include <string>

#include "models/model_folder.h"
#include "tests/messages.h"
#include "tests/models/tiny_models.h"

namespace minigpt::test {

inline TrainConfig five_characters() {
  TrainConfig config = tiny_run();
  config.model.vocab_size = 5;
  return config;
}

// A model, its optimiser and everything around them, as a run would have them.
struct Saved {
  TrainConfig config = five_characters();
  CharTokenizer tokenizer = CharTokenizer::from_text(U"abcde");
  Generator rng{3};
  Gpt gpt;
  Adam optimizer;
  TrainState state;

  Saved() : gpt(config.model, rng), optimizer(decay_groups(gpt.parameters(), 0.01, 0.1)) {
    gpt.loss(tokens_for(gpt.config, 1, 4), tokens_for(gpt.config, 1, 4, 2)).backward();
    for (int step = 0; step < 7; ++step) optimizer.step();
    double one = 0;
    rng.normal_scalar(std::span<double>(&one, 1));  // leaves a pending normal
    state.step = 7;
    state.generator = rng.state();
    state.batch_offsets = {3, 0, 12};
    state.best_loss = 1.0 / 3;
    state.best_step = 5;
    state.evaluations_since_best = 2;
    state.text_fingerprint = "400-abc";
    state.data_path = "a \"quoted\"\\ path.txt";
    state.kernel_set = "scalar";
  }
  void write(const ModelFolder& folder) {
    folder.save_config(config);
    tokenizer.save(folder.tokenizer());
    folder.save_best(gpt.parameters());
    folder.save_last(gpt.parameters(), optimizer, state);
  }
};

inline void overwrite(const std::filesystem::path& path, const std::string& content) {
  std::ofstream(path, std::ios::binary) << content;
}

}  // namespace minigpt::test
