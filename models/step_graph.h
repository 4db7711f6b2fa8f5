#pragma once
// The recorded graph of one training step as a list: which operation of which module made what, what it keeps for the backward
// pass, how large the gradient was that came back to it, and how long its backward took.

#include <string>
#include <vector>

#include "autograd/variable.h"
#include "models/gpt.h"

namespace minigpt {

struct StepNode {
  std::string op, module;  // module: path, "" outside of any
  Shape shape;             // of the output
  std::string dtype;
  std::int64_t saved_bytes =
      0;  // of what backward reads; parameters and what an older node keeps are not counted again
  double grad_norm = 0;             // of the gradient of the loss with respect to the output
  bool has_gradient = false;        // one came back
  double backward_seconds = 0;      // until the next operation's turn
  std::vector<int> inputs;          // indices of the nodes that made its inputs
  std::vector<std::string> leaves;  // names of the parameters it reads
};

struct StepGraph {
  double loss = 0;
  double forward_seconds = 0, backward_seconds = 0;
  std::vector<StepNode> nodes;  // in the order of the forward pass; the last one is the loss
};

// Forward and backward of the mean loss of one batch, without dropout. Gradients that the model had are dropped.
// tokens, targets: int32 (B, T)
StepGraph trace_step(const Gpt& model, const Tensor& tokens, const Tensor& targets);

}  // namespace minigpt
