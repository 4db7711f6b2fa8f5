#pragma once
// Adam and AdamW: each weight gets its own step size, from running averages of its gradient and of the gradient's square.

#include <type_traits>

#include "nn/optim/optimizer.h"
#include "tensor/optimizer_kernels.h"

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

  // All parameters are changed in one pass over memory at the end of the step.
  void finish_step() override;
  template <class T>
  std::vector<AdamTask<T>>& tasks() {
    if constexpr (std::is_same_v<T, float>)
      return floats_;
    else
      return doubles_;
  }

  AdamOptions options_;
  Corrections corrections_;
  std::vector<Tensor> mean_, square_;
  std::vector<AdamTask<float>> floats_;  // of the step being made
  std::vector<AdamTask<double>> doubles_;
  std::vector<Tensor> gradients_;  // what the tasks point to
};

}  // namespace minigpt
