#pragma once
// What faults are shown on: a training run with and without the fault, and a check of gradients with it.

#include <optional>
#include <string>
#include <vector>

#include "models/trainer.h"
#include "tools/zoo/mutant.h"

namespace minigpt::zoo {

// A GPT that shows something within seconds: 2 layers, 2 heads, 32 channels, context 32.
TrainConfig small_run();

struct TrainStep {
  double loss, grad_norm;
};
struct TrainOutcome {
  std::vector<TrainStep> steps;
  std::string stopped;  // why it ended early, "" if it did not
  // GPT only. Validation loss with the fault, as in training; and of the same weights one character at a time, as when
  // writing: the next character is not there then. Nothing is planted in that.
  std::optional<double> validation, writing;
};

// Trains from the same seed, with the fault (or without, if null). `text` is used by the GPT only.
TrainOutcome train(const Mutant& mutant, bool planted, const TrainConfig& config, std::u32string_view text);

// The gradient of one parameter, or of a third of one (queries, keys and values of c_attn), against finite differences.
struct Slope {
  std::string name;
  int checked = 0, wrong = 0;
  double analytic = 0, numeric = 0;  // of the element that is worst
  // analytic / numeric of wrong elements: smallest, middle and largest; equal ones mean a factor.
  double low = 0, middle = 0, high = 0;
};
struct Inspection {
  std::vector<Slope> slopes;
  // GPT only: positions that change if the last character does, besides the last. Right: none.
  std::optional<int> see_the_future;
  // GPT in elementary operations only: how much query t (row) looks at key u, in the first head of the first block (T, T).
  std::vector<std::vector<double>> attention;
};
// Of a tiny model in float64; `elements` of each parameter.
Inspection inspect(const Mutant& mutant, bool planted, std::int64_t elements, std::uint64_t seed);

}  // namespace minigpt::zoo
