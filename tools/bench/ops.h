#pragma once
// minigpt bench ops: the speed of single operations, and what recording one costs.

#include <cstdint>
#include <string>

namespace minigpt::tools {

struct OpsBench {
  std::int64_t B = 12, T = 64, C = 384, heads = 6, vocabulary = 65;
  std::string only;      // if set, just the operations with this in their name
  double seconds = 0.1;  // that each figure is measured for
  bool json = false;
};

// For each operation: forward alone, and forward with backward, in microseconds and per second. Then, for vectors of 16
// numbers, nanoseconds per operation recorded, run backward and released.
void bench_ops(const OpsBench& bench);

}  // namespace minigpt::tools
