#include "nn/optim/optimizer.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "tensor/arithmetic.h"
#include "tensor/reduce.h"

namespace minigpt {
namespace {

void check_rate(double rate) {
  check(std::isfinite(rate) && rate >= 0, "optimizer",
        "learning rate must be finite and not negative, got {}", rate);
}

}  // namespace

Optimizer::Optimizer(std::vector<ParameterGroup> groups) : groups_(std::move(groups)) {
  std::vector<NamedParameter> seen;
  for (const ParameterGroup& group : groups_) {
    check_rate(group.learning_rate);
    check(std::isfinite(group.weight_decay) && group.weight_decay >= 0, "optimizer",
          "weight decay must be finite and not negative, got {}", group.weight_decay);
    for (const NamedParameter& p : group.parameters) {
      for (const NamedParameter& other : seen)
        check(!other.variable.is(p.variable), "optimizer", "{} and {} are the same parameter", other.name,
              p.name);
      // Updates walk weights and gradients side by side in memory.
      check(p.variable.value().is_contiguous(), "optimizer", "{} is not row-major: make it from a clone()",
            p.name);
      seen.push_back(p);
    }
  }
  steps_ = zeros({static_cast<std::int64_t>(seen.size())}, DType::i32);
}

void Optimizer::step(double grad_scale) {
  check(std::isfinite(grad_scale), "optimizer", "the factor of the gradients must be finite, got {}",
        grad_scale);
  const NoGrad no_grad;
  std::int32_t* steps = steps_.mutable_data<std::int32_t>();
  std::size_t index = 0;
  for (ParameterGroup& group : groups_)
    for (NamedParameter& p : group.parameters) {
      if (p.variable.has_grad())
        update(index, ++steps[index], p.variable, p.variable.grad().value().contiguous(), group, grad_scale);
      ++index;
    }
  finish_step();
}

void Optimizer::zero_grad() {
  for (const ParameterGroup& group : groups_) minigpt::zero_grad(group.parameters);
}

void Optimizer::set_learning_rate(double rate) {
  check_rate(rate);
  for (ParameterGroup& group : groups_) group.learning_rate = rate;
}

std::vector<NamedParameter> Optimizer::all_parameters() const {
  std::vector<NamedParameter> all;
  for (const ParameterGroup& group : groups_)
    all.insert(all.end(), group.parameters.begin(), group.parameters.end());
  return all;
}

std::vector<NamedTensor> Optimizer::state() const {
  std::vector<NamedTensor> tensors = memory();
  tensors.push_back({"steps", steps_});
  return tensors;
}

void Optimizer::check_state(const std::vector<NamedTensor>& tensors) const {
  std::map<std::string, const Tensor*> given;
  for (const NamedTensor& t : tensors) given[t.name] = &t.tensor;
  for (const NamedTensor& t : state()) {
    const auto found = given.find(t.name);
    check(found != given.end(), "optimizer", "the saved state lacks {}", t.name);
    check(found->second->shape() == t.tensor.shape() && found->second->dtype() == t.tensor.dtype(),
          "optimizer", "the saved {} is {} {}, the parameter needs {} {}", t.name,
          name_of(found->second->dtype()), found->second->shape(), name_of(t.tensor.dtype()),
          t.tensor.shape());
    given.erase(found);
  }
  check(given.empty(), "optimizer", "the saved state has {} that this optimizer does not know",
        given.empty() ? "" : given.begin()->first);
}

void Optimizer::load_state(const std::vector<NamedTensor>& tensors) {
  check_state(tensors);
  std::vector<NamedTensor> own = state();
  for (const NamedTensor& t : tensors)
    std::find_if(own.begin(), own.end(), [&](const NamedTensor& o) {
      return o.name == t.name;
    })->tensor.copy_(t.tensor);
}

double grad_norm(const std::vector<NamedParameter>& parameters) {
  double total = 0;
  for (const NamedParameter& p : parameters)
    if (p.variable.has_grad()) total += sum_of_squares(p.variable.grad().value());
  return std::sqrt(total);
}

double clip_factor(double norm, double max_norm) {
  check(max_norm >= 0, "clip", "the largest norm must be 0 or more, got {}", max_norm);
  return std::min(1.0, max_norm / (norm + 1e-6));
}

double clip_grad_norm(const std::vector<NamedParameter>& parameters, double max_norm) {
  const double norm = grad_norm(parameters);
  const double factor = clip_factor(norm, max_norm);
  for (const NamedParameter& p : parameters) {
    if (!p.variable.has_grad()) continue;
    Variable gradient = p.variable.grad();
    mul_(gradient.mutable_value(), factor);
  }
  return norm;
}

}  // namespace minigpt
