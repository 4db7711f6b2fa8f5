#include "nn/optim/adam.h"

#include <cmath>

#include "nn/optim/adam_step.h"

namespace minigpt {

Adam::Adam(std::vector<ParameterGroup> groups, const AdamOptions& options)
    : Optimizer(std::move(groups)), options_(options) {
  check(options.beta1 >= 0 && options.beta1 < 1 && options.beta2 >= 0 && options.beta2 < 1, "adam",
        "betas must be in [0, 1), got {} and {}", options.beta1, options.beta2);
  check(std::isfinite(options.eps) && options.eps >= 0, "adam", "eps must be finite and not negative, got {}",
        options.eps);
  for (const NamedParameter& p : all_parameters()) {
    mean_.push_back(zeros_like(p.variable.value()));
    square_.push_back(zeros_like(p.variable.value()));
  }
}

const Adam::Corrections& Adam::corrections(std::int64_t t) {
  if (corrections_.t != t)
    corrections_ = {t, 1 - std::pow(options_.beta1, static_cast<double>(t)),
                    1 - std::pow(options_.beta2, static_cast<double>(t))};
  return corrections_;
}

void Adam::update(std::size_t index, std::int64_t t, Variable& parameter, const Tensor& gradient,
                  const ParameterGroup& group, double grad_scale) {
  Tensor& value = parameter.mutable_value();
  visit_floating("adam", value.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const Corrections& c = corrections(t);
    const AdamStep step = detail::adam_step(options_, group, c.first, c.second, grad_scale);
    tasks<T>().push_back({value.mutable_data<T>(), gradient.data<T>(),
                          mean_[index].template mutable_data<T>(), square_[index].template mutable_data<T>(),
                          value.numel(), step});
  });
  gradients_.push_back(gradient);
}

void Adam::finish_step() {
  adamw_steps<float>(floats_);
  adamw_steps<double>(doubles_);
  floats_.clear();
  doubles_.clear();
  gradients_.clear();
}

std::vector<NamedTensor> Adam::memory() const {
  std::vector<NamedTensor> tensors;
  const std::vector<NamedParameter> parameters = all_parameters();
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    tensors.push_back({"exp_avg." + parameters[i].name, mean_[i]});
    tensors.push_back({"exp_avg_sq." + parameters[i].name, square_[i]});
  }
  return tensors;
}

}  // namespace minigpt
