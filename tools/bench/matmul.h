#pragma once
// minigpt bench matmul: speed of matrix products, beside every library at hand.

#include <string>
#include <vector>

#include "tools/bench/contender.h"

namespace minigpt::tools {

struct MatmulBench {
  std::vector<Product> products;
  std::vector<int> threads;
  std::vector<std::string> contenders;  // of contender_names()
  int rounds = 5;
  double slice = 0.04;   // seconds that each contender is timed for, per round and product
  bool fastest = false;  // the fastest batch and round count, in place of medians
  bool json = false;
};

// For each number of threads and each product: in every round each contender is timed once, in turn; its median over
// the rounds counts. Prints a table, or one JSON object a line.
void bench_matmul(const MatmulBench& bench);

}  // namespace minigpt::tools
