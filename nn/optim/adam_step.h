#pragma once
// One AdamW step of one parameter, from the settings of the optimiser and of its group.

#include "nn/optim/adam.h"

namespace minigpt::detail {

// correction1, correction2: 1 - beta1^t and 1 - beta2^t at the parameter's step t.
inline AdamStep adam_step(const AdamOptions& options, const ParameterGroup& group, double correction1,
                          double correction2, double grad_scale) {
  AdamStep step;
  step.lr = group.learning_rate;
  step.beta1 = options.beta1;
  step.beta2 = options.beta2;
  step.eps = options.eps;
  step.weight_decay = group.weight_decay;
  step.bias_correction1 = correction1;
  step.bias_correction2 = correction2;
  step.grad_scale = grad_scale;
  step.decoupled = options.decoupled_decay;
  return step;
}

}  // namespace minigpt::detail
