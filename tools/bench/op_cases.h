#pragma once
// The operations that bench ops measures, with what each has to move or to compute at least.

#include <functional>
#include <string>
#include <vector>

#include "autograd/variable.h"
#include "tools/bench/ops.h"

namespace minigpt::tools {

struct OpCase {
  std::string name;
  std::vector<Variable> inputs;        // that get a gradient
  std::function<Variable()> forward;   // undefined result: a step without a backward pass
  double forward_work, backward_work;  // bytes, or floating-point operations if `flops`
  bool flops = false;
};

// At activations of shape (B, T, C). Work in bytes counts every array once that must be read or written, also inside a
// fused operation; work in operations counts matrix products alone.
std::vector<OpCase> large_ops(const OpsBench& bench);

// y = f(x) for vectors of 16 numbers.
struct SmallOp {
  std::string name;
  std::function<Variable(const Variable&)> apply;
};
std::vector<SmallOp> small_ops();

}  // namespace minigpt::tools
