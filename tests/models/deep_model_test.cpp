// Deep models: that they start to learn (T-14), and that their long backward pass is right.

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "models/ngram.h"
#include "models/text_file.h"
#include "tensor/arithmetic.h"
#include "tests/models/tiny_models.h"

namespace minigpt {
namespace {

using test::Recorder;
using test::TinyData;
using test::tokens_for;

// What a run with this recipe begins and ends with, and what there is to compare it with.
struct Losses {
  double first, last;    // of the first step; the mean over the last 20
  double entropy, ln_v;  // of single characters, and of guessing evenly
};
Losses train(TrainConfig config, const std::u32string& text) {
  const TinyData tiny(config, text);
  Trainer trainer(config, tiny.tokenizer, tiny.data);
  Recorder seen;
  trainer.run(nullptr, seen);
  Losses losses{seen.steps.front().loss, 0, 0, std::log(static_cast<double>(tiny.tokenizer.vocab_size()))};
  for (std::size_t i = seen.steps.size() - 20; i < seen.steps.size(); ++i)
    losses.last += seen.steps[i].loss / 20;
  const NgramLadder ladder = ngram_ladder(
      tiny.data.tokens(Split::kTrain), tiny.data.tokens(Split::kValidation), tiny.tokenizer.vocab_size(), 1);
  losses.entropy = ladder.rows.front().additive_loss;
  return losses;
}

TrainConfig recipe(std::int64_t layers, std::int64_t seed) {
  TrainConfig config;
  config.model.n_layer = layers;
  config.model.n_head = 4;
  config.model.n_embd = 32;
  config.model.block_size = 32;
  config.batch_size = 8;
  config.learning_rate = 3e-3;
  config.schedule = "constant";
  config.eval_every = 100000;
  config.eval_batches = 1;
  config.seed = seed;
  return config;
}

TEST_CASE("T-14: 1, 4 and 12 layers start at ln V and come below the entropy of single characters") {
  std::u32string text;
  while (text.size() < 4000)
    text +=
        U"The quick brown fox jumps over the lazy dog, and nobody asks why.\n"
        U"A model reads what was written before; it writes what may come next.\n";
  for (const std::int64_t layers : {1, 4, 12}) {
    CAPTURE(layers);
    TrainConfig config = recipe(layers, 1);
    config.steps = 80;
    const Losses losses = train(config, text);
    CHECK(losses.first == doctest::Approx(losses.ln_v).epsilon(0.02));
    CHECK(losses.last < losses.entropy);
  }
}

TEST_CASE("T-14: the same on Shakespeare's characters, 300 steps, three seeds (MINIGPT_LONG_TESTS)") {
  const char* folder = std::getenv("MINIGPT_DATA");
  if (!std::getenv("MINIGPT_LONG_TESTS") || !folder) return;
  const std::u32string text = load_text(std::string(folder) + "/tinyshakespeare.txt").text;
  for (const std::int64_t layers : {1, 4, 12}) {
    for (const std::int64_t seed : {1, 2, 3}) {
      CAPTURE(layers);
      CAPTURE(seed);
      TrainConfig config = recipe(layers, seed);
      config.steps = 300;
      const Losses losses = train(config, text);
      CHECK(losses.ln_v == doctest::Approx(4.174).epsilon(1e-3));
      CHECK(losses.first == doctest::Approx(losses.ln_v).epsilon(0.02));
      CHECK(losses.last < losses.entropy);
    }
  }
}

// The engine adds gradients up in place and gives buffers back while later nodes run. With the graph retained nothing
// is given back; gradients asked for one parameter at a time never meet the buffers of the others.
TEST_CASE("A-16: in a model of 30 blocks, every gradient has the same bits with buffers reused and without") {
  GptConfig config = test::tiny_config();
  config.n_layer = 30;
  Gpt gpt = test::lively_model(config, 5);
  const Tensor tokens = tokens_for(config, 2, config.block_size),
               targets = tokens_for(config, 2, config.block_size, 9);
  // Branches as large as those of a model of two blocks would add up to something enormous.
  for (NamedParameter& p : gpt.parameters())
    if (p.name.ends_with("c_proj.weight")) mul_(p.variable.mutable_value(), 0.1);
  gpt.loss(tokens, targets).backward();
  std::vector<std::vector<double>> reused;
  for (const NamedParameter& p : gpt.parameters())
    reused.push_back(p.variable.grad().value().to_vector<double>());

  zero_grad(gpt.parameters());
  BackwardOptions retain;
  retain.retain_graph = true;
  const Variable loss = gpt.loss(tokens, targets);
  loss.backward(retain);
  const std::vector<NamedParameter> parameters = gpt.parameters();
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    CAPTURE(parameters[i].name);
    CHECK(parameters[i].variable.grad().value().to_vector<double>() == reused[i]);
    if (i % 7 != 0) continue;  // a pass through 30 blocks each
    GradOptions alone;
    alone.retain_graph = true;
    CHECK(grad({loss}, {parameters[i].variable}, alone)[0].value().to_vector<double>() == reused[i]);
  }

  std::vector<Variable> all;
  for (const NamedParameter& p : parameters) all.push_back(p.variable);
  GradcheckOptions sample;
  sample.max_elements_per_input = 1;
  const GradcheckResult check =
      gradcheck([&](const std::vector<Variable>&) { return gpt.loss(tokens, targets); }, all, sample);
  CHECK_MESSAGE(check.ok, check.str());
  CHECK(check.checked == static_cast<std::int64_t>(all.size()));
}

}  // namespace
}  // namespace minigpt
