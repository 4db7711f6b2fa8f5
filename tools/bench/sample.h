#pragma once
// minigpt bench sample: how fast text is written, with random weights.

#include <cstdint>
#include <string>
#include <vector>

#include "models/gpt_config.h"

namespace minigpt::tools {

struct SampleBench {
  std::string preset;                              // for the report
  GptConfig model;                                 // with its vocabulary
  std::vector<std::int64_t> batches = {1, 4, 16};  // texts written at once
  double seconds = 1;                              // that each figure is measured for, about
  bool json = false;
};

// Tokens per second: one text within the context, one beyond it, a prompt as long as the context, and several texts at
// once within the context.
void bench_sample(const SampleBench& bench);

}  // namespace minigpt::tools
