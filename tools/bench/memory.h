#pragma once
// minigpt bench memory: what a training step keeps in memory.

#include <string>

#include "models/train_config.h"

namespace minigpt::tools {

struct MemoryBench {
  std::string preset;  // for the report
  TrainConfig config;  // with its vocabulary
  bool json = false;
};

// Makes three steps on random tokens and prints the bytes of tensors by kind.
void bench_memory(const MemoryBench& bench);

}  // namespace minigpt::tools
