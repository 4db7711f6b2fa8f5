#pragma once
// Stochastic gradient descent.

#include "nn/optim/optimizer.h"

namespace minigpt {

struct SgdOptions {
  double momentum = 0;
  double dampening = 0;
  bool nesterov = false;  // needs momentum > 0 and no dampening
};

// g = gradient + weight_decay * w
// v = momentum * v + (1 - dampening) * g          (first step: v = g)
// w = w - lr * (nesterov ? g + momentum * v : v)                    as torch.optim.SGD; Sutskever et al. 2013
class Sgd : public Optimizer {
 public:
  Sgd(std::vector<ParameterGroup> groups, const SgdOptions& options = {});

 private:
  std::vector<NamedTensor> memory() const override;
  void update(std::size_t index, std::int64_t t, Variable& parameter, const Tensor& gradient,
              const ParameterGroup& group, double grad_scale) override;

  SgdOptions options_;
  std::vector<Tensor> velocity_;
};

}  // namespace minigpt
