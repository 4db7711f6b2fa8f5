#pragma once
// Optimisers: how gradients change parameters.

#include <string>
#include <vector>

#include "nn/module.h"

namespace minigpt {

// Parameters that share settings. A parameter without a gradient is skipped by step(): not moved and not decayed.
struct ParameterGroup {
  std::vector<NamedParameter> parameters;
  double learning_rate = 1e-3;
  double weight_decay = 0;
};

class Optimizer {
 public:
  // Throws Error unless rates and decays are finite and not negative, and every parameter is row-major and in one group.
  explicit Optimizer(std::vector<ParameterGroup> groups);
  virtual ~Optimizer() = default;
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  // One update from the gradients, each multiplied by grad_scale first (1 / micro-batches, or the clipping factor).
  void step(double grad_scale = 1);
  void zero_grad();
  // Sets the rate of every group.
  void set_learning_rate(double rate);
  std::vector<ParameterGroup>& groups() { return groups_; }

  // What must be saved to go on exactly: the number of updates of each parameter ("steps", int32) and what the kind of
  // optimiser remembers, one tensor per parameter, named "exp_avg.<parameter>". The tensors are the live ones.
  std::vector<NamedTensor> state() const;
  // Takes it back. Throws Error, before any change, if a tensor is missing, unknown or does not fit.
  void load_state(const std::vector<NamedTensor>& tensors);
  // The checks alone.
  void check_state(const std::vector<NamedTensor>& tensors) const;

 protected:
  // Changes one parameter; `t` is the number of its updates including this one, `index` counts the parameters of all
  // groups in order.
  virtual void update(std::size_t index, std::int64_t t, Variable& parameter, const Tensor& gradient,
                      const ParameterGroup& group, double grad_scale) = 0;
  // Called after the last update() of a step, for those that collect the parameters and change them together.
  virtual void finish_step() {}
  virtual std::vector<NamedTensor> memory() const = 0;
  std::vector<NamedParameter> all_parameters() const;

  std::vector<ParameterGroup> groups_;

 private:
  Tensor steps_;  // int32, one per parameter
};

// sqrt(sum of squares of all gradients), in double. Parameters without a gradient count as 0.
double grad_norm(const std::vector<NamedParameter>& parameters);
// The factor that brings a gradient of this norm down to max_norm: min(1, max_norm / (norm + 1e-6)), as
// torch.nn.utils.clip_grad_norm_ (Pascanu et al. 2013, section 3.2). Throws Error if max_norm is negative or NaN.
double clip_factor(double norm, double max_norm);
// Scales every gradient in place by that factor and returns the norm before.
double clip_grad_norm(const std::vector<NamedParameter>& parameters, double max_norm);

}  // namespace minigpt
