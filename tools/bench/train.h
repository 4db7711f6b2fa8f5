#pragma once
// minigpt bench train: the time of a training step, and where it goes.

#include <string>
#include <string_view>

#include "models/train_config.h"

namespace minigpt::tools {

struct TrainBench {
  std::string preset;  // for the report
  TrainConfig config;
  std::string dtype = "f32";
  std::u32string_view text;
  int steps = 20;  // timed, after 3 that are not
  bool profile = false;
  bool json = false;
};

// Trains, without evaluating or saving, and prints the median step.
void bench_train(TrainBench bench);

}  // namespace minigpt::tools
