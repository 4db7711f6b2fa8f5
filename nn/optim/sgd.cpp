#include "nn/optim/sgd.h"

#include <cmath>

namespace minigpt {

Sgd::Sgd(std::vector<ParameterGroup> groups, const SgdOptions& options)
    : Optimizer(std::move(groups)), options_(options) {
  check(std::isfinite(options.momentum) && options.momentum >= 0, "sgd",
        "momentum must be finite and not negative, got {}", options.momentum);
  check(!options.nesterov || (options.momentum > 0 && options.dampening == 0), "sgd",
        "nesterov needs momentum > 0 and dampening 0, got momentum {} and dampening {}", options.momentum,
        options.dampening);
  if (options.momentum == 0) return;
  for (const NamedParameter& p : all_parameters()) velocity_.push_back(zeros_like(p.variable.value()));
}

void Sgd::update(std::size_t index, std::int64_t t, Variable& parameter, const Tensor& gradient,
                 const ParameterGroup& group, double grad_scale) {
  Tensor& value = parameter.mutable_value();
  visit_floating("sgd", value.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const T scale = static_cast<T>(grad_scale);
    const T decay = static_cast<T>(group.weight_decay);
    const T rate = static_cast<T>(group.learning_rate);
    const T momentum = static_cast<T>(options_.momentum);
    const T fresh = t == 1 ? T{1} : static_cast<T>(1 - options_.dampening);
    const T* g = gradient.data<T>();
    T* w = value.mutable_data<T>();
    T* v = velocity_.empty() ? nullptr : velocity_[index].mutable_data<T>();
    for (std::int64_t i = 0; i < value.numel(); ++i) {
      T d = g[i] * scale + decay * w[i];
      if (v) {
        v[i] = momentum * v[i] + fresh * d;
        d = options_.nesterov ? d + momentum * v[i] : v[i];
      }
      w[i] -= rate * d;
    }
  });
}

std::vector<NamedTensor> Sgd::memory() const {
  std::vector<NamedTensor> tensors;
  const std::vector<NamedParameter> parameters = all_parameters();
  for (std::size_t i = 0; i < velocity_.size(); ++i)
    tensors.push_back({"momentum." + parameters[i].name, velocity_[i]});
  return tensors;
}

}  // namespace minigpt
