#include "models/train_optimizer.h"

#include "models/gpt.h"
#include "nn/optim/muon.h"

namespace minigpt {

std::unique_ptr<Optimizer> make_optimizer(const TrainConfig& config,
                                          const std::vector<NamedParameter>& parameters) {
  if (config.optimizer == "adamw")
    return std::make_unique<Adam>(decay_groups(parameters, config.learning_rate, config.weight_decay),
                                  config.adam_options());
  std::vector<NamedParameter> matrices, others;
  for (const NamedParameter& p : parameters)
    (p.variable.rank() == 2 && p.name.starts_with("transformer.h.") ? matrices : others).push_back(p);
  return std::make_unique<Muon>(
      std::vector<ParameterGroup>{{matrices, config.learning_rate, config.weight_decay}},
      decay_groups(others, config.learning_rate, config.weight_decay),
      MuonOptions{config.muon_momentum, config.muon_scale}, config.adam_options());
}

}  // namespace minigpt
