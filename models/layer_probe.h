#pragma once
// What goes on inside the blocks of a GPT, recomputed beside training: a probe never changes a step.

#include <vector>

#include "models/gpt.h"

namespace minigpt {

struct LayerReport {
  double residual = 0;  // of the stream after the block: sqrt(mean x^2)
  double branch = 0;    // of what the block added to it: sqrt(mean (x_out - x_in)^2)
  double inactive =
      0;            // share of hidden MLP values whose activation passes (almost) no gradient: |f'(z)| < 0.01
  double dead = 0;  // share of hidden units for which that holds at every position looked at
  std::vector<double>
      entropy;  // per head: mean entropy of its weights, divided by that of even weights; 0: one key, 1: all
};

// Runs tokens (B, T) through the model without dropout or recording, and looks at every block. Entropies leave the first
// position out, which can only look at itself. T = 1 gives entropies of 0. Throws Error as Gpt::forward does.
std::vector<LayerReport> probe_layers(const Gpt& model, const Tensor& tokens);

}  // namespace minigpt
