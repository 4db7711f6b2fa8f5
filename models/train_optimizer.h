#pragma once
// The optimiser of a training run.

#include <memory>

#include "models/train_config.h"
#include "nn/optim/optimizer.h"

namespace minigpt {

// AdamW on all parameters, or Muon on the matrices inside the blocks and AdamW on the rest, as config.optimizer says.
// Only parameters of rank >= 2 decay. Embeddings and the read-out are tables of rows that are learned at different
// times, not maps between equal spaces, so Muon is not for them (Jordan et al. 2024).
std::unique_ptr<Optimizer> make_optimizer(const TrainConfig& config,
                                          const std::vector<NamedParameter>& parameters);

}  // namespace minigpt
