#pragma once
// Adam and AdamW: each weight gets its own step size, from running averages of its gradient and of the gradient's square.

#include "nn/optim/optimizer.h"

namespace minigpt {

struct AdamOptions {
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  // true: AdamW, weights shrink by lr * weight_decay directly (Loshchilov & Hutter 2019, algorithm 2);
  // false: Adam, weight_decay * w is added to the gradient (Kingma & Ba 2015, algorithm 1).
  bool decoupled_decay = true;
};

// w = w - lr * weight_decay * w                                  (AdamW)
// m = beta1 * m + (1 - beta1) * g;  v = beta2 * v + (1 - beta2) * g^2
// w = w - lr * (m / (1 - beta1^t)) / (sqrt(v / (1 - beta2^t)) + eps)
// m and v start at zero, so the first averages are too small; dividing by 1 - beta^t undoes exactly that.
class Adam : public Optimizer {
 public:
  Adam(std::vector<ParameterGroup> groups, const AdamOptions& options = {});

 private:
  std::vector<NamedTensor> memory() const override;
  void update(std::size_t index, std::int64_t t, Variable& parameter, const Tensor& gradient,
              const ParameterGroup& group, double grad_scale) override;

  // 1 - beta^t. All parameters are usually at the same t, so the last result is kept.
  struct Corrections {
    std::int64_t t = 0;
    double first = 0, second = 0;
  };
  const Corrections& corrections(std::int64_t t);

  AdamOptions options_;
  Corrections corrections_;
  std::vector<Tensor> mean_, square_;
};

}  // namespace minigpt
