#pragma once
// The backward pass: reverse-mode automatic differentiation over the recorded graph.
//
// Nodes are visited from the youngest to the oldest. Every user of a value is younger than the node that made
// it, so when a node's turn comes its gradient is complete, and each node runs exactly once. The engine, not
// the op, adds up gradients of values with several users, sums gradients of broadcast inputs back to their
// shape, and frees the graph. (Baydin et al. 2018, "Automatic differentiation in machine learning: a survey",
// section 3.2.)

#include <vector>

#include "autograd/variable.h"

namespace minigpt {

struct GradOptions {
  std::vector<Variable>
      gradients;  // d(objective)/d(output) per output; default: 1 for single-element outputs
  bool retain_graph = false;
  bool create_graph = false;  // record the backward pass, so that the results can be differentiated again
  bool allow_unused =
      false;  // an input that the outputs do not depend on gives an undefined result, not an Error
};

// d(sum of outputs)/d(each input), without touching any grad(). Inputs may be leaves or inner values.
std::vector<Variable> grad(const std::vector<Variable>& outputs, const std::vector<Variable>& inputs,
                           const GradOptions& options = {});

// Sums `gradient` over the axes along which a tensor of `shape` was broadcast. Differentiable.
Variable sum_to(const Variable& gradient, const Shape& shape);

}  // namespace minigpt
