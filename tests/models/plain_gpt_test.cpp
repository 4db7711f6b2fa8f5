// C-14: the files of a model mean what they say. plain_gpt.py, which shares no line with this project, reads a model
// folder and computes its logits; they are ours.

#include <doctest/doctest.h>

#include <cmath>
#include <cstdio>
#include <memory>
#include <sstream>

#include "models/model_folder.h"
#include "tests/models/tiny_models.h"
#include "tests/nn/temporary_folder.h"

namespace minigpt {
namespace {

// What `command` prints; "" if it fails.
std::string output_of(const std::string& command) {
  std::FILE* pipe = ::popen(command.c_str(), "r");
  REQUIRE(pipe != nullptr);
  std::string text;
  for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) text += static_cast<char>(c);
  return ::pclose(pipe) == 0 ? text : "";
}

TEST_CASE("C-14: plain Python, reading our files, gets our logits to 1e-4") {
  if (output_of("python3 -c 'print(1)' 2>/dev/null").empty()) {
    MESSAGE("skipped: there is no python3");
    return;
  }
  CHECK(output_of("python3 '" MINIGPT_SOURCE_DIR "/tests/models/plain_gpt.py' 2>&1; [ $? = 2 ]") ==
        "usage: plain_gpt.py MODEL TEXT\n");
  std::vector<TrainConfig> configs = {preset("nanogpt-cpu"), preset("quick"), preset("names"),
                                      preset("nanogpt-cpu")};
  configs[3].model.bias = true;
  configs[3].model.tie_weights = false;
  configs[3].model.norm = "rms";
  configs[3].model.activation = "silu";
  for (TrainConfig& config : configs) {
    CAPTURE(config.model.norm);
    CAPTURE(config.model.activation);
    CAPTURE(config.model.positions);
    config.model.block_size = 8;
    config.model.n_layer = 2;
    config.model.n_head = 2;
    config.model.n_embd = 16;
    const CharTokenizer tokenizer = CharTokenizer::from_text(U"abcdefgh", false);
    config.model.vocab_size = tokenizer.vocab_size();
    Generator rng(3);
    Gpt gpt(config.model, rng);
    // Weights without any symmetry, so that a transposed or shifted matrix shows.
    for (NamedParameter& p : gpt.parameters()) init::uniform_(p.variable, -0.5, 0.5, rng);
    const test::TemporaryFolder temporary;
    const ModelFolder folder(temporary.path());
    folder.save_config(config);
    tokenizer.save(folder.tokenizer());
    folder.save_best(gpt.parameters());

    std::istringstream printed(output_of("python3 '" MINIGPT_SOURCE_DIR "/tests/models/plain_gpt.py' '" +
                                         temporary.path().string() + "' badcafeh"));
    const Tensor ours = gpt.forward(Tensor::from<std::int32_t>({1, 0, 3, 2, 0, 5, 4, 7}, {1, 8})).value();
    double largest = 0;
    for (const float logit : ours.to_vector<float>()) {
      double theirs = NAN;
      printed >> theirs;
      REQUIRE(printed.good());
      CHECK(std::abs(theirs - static_cast<double>(logit)) < 1e-4);
      largest = std::max(largest, std::abs(theirs));
    }
    CHECK(largest > 0.1);
    std::string rest;
    printed >> rest;
    CHECK(rest.empty());
  }
}

}  // namespace
}  // namespace minigpt
