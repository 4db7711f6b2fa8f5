#pragma once
// The graph of one training step of a GPT, measured.

#include "autograd/graph.h"
#include "models/gpt.h"
#include "models/train_config.h"

namespace minigpt {

struct TrainingGraph {
  Graph graph;
  double loss = 0;
};

// Makes one micro-batch of a training step as the configuration says (dropout, precision, recomputation; masks of step 0) and
// records what happened: forward_seconds, and with `backward` also backward_seconds and gradient norms. Weights stay as they
// are, and so do their gradients.   inputs, targets: int32 (B, T)
// Dropout masks come from a counter-based stream, also where the run draws them as PyTorch does.
// Throws Error as Gpt::loss does.
TrainingGraph graph_of_step(Gpt& model, const TrainConfig& config, const Tensor& inputs,
                            const Tensor& targets, bool backward = true);

}  // namespace minigpt
