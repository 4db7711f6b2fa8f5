#pragma once
// Second derivatives of fused operations.
//
// A fused op has a hand-written kernel for its backward, which nothing can differentiate again. It therefore
// carries its composition, the same formula in elementary ops. Normally the kernel runs; under create_graph
// the engine differentiates the composition instead. Tests compare the two.

#include <vector>

#include "autograd/engine.h"
#include "autograd/node.h"
#include "autograd/ops/alias.h"

namespace minigpt {

namespace detail {
inline constinit thread_local bool composing = false;
}

// True where ops that contain others are to record those instead of themselves.
inline bool composing() { return detail::composing; }

// While alive, mlp, linear_activation, the normalisations with a linear map and causal_attention of this thread record their
// compositions: slower, but every step of the formula is a node of the graph, for whoever looks for a cause
// (autograd/explain.h). Values agree up to rounding.
class ScopedComposition {
 public:
  ScopedComposition() : before_(detail::composing) { detail::composing = true; }
  ~ScopedComposition() { detail::composing = before_; }
  ScopedComposition(const ScopedComposition&) = delete;
  ScopedComposition& operator=(const ScopedComposition&) = delete;

 private:
  bool before_;
};

// d(compose(inputs) * dy)/d(inputs), recorded. compose: const std::vector<Variable>& -> Variable. Undefined
// inputs stay undefined; inputs that need no gradient get none.
template <class Compose>
Grads differentiate(const Compose& compose, const std::vector<Variable>& inputs, const Variable& dy) {
  // The aliases are younger than everything upstream, so the inner pass stops at them.
  std::vector<Variable> own;
  std::vector<Variable> wanted;
  for (const Variable& x : inputs) {
    const bool needed = x.defined() && x.requires_grad();
    own.push_back(needed ? alias(x) : x);
    if (needed) wanted.push_back(own.back());
  }
  if (wanted.empty()) {
    Grads none;
    for (std::size_t i = 0; i < inputs.size(); ++i) none.push_back(Variable());
    return none;
  }
  GradOptions options;
  options.gradients = {dy};
  options.create_graph = true;
  options.allow_unused = true;
  const std::vector<Variable> gradients = grad({compose(own)}, wanted, options);
  Grads out;
  std::size_t next = 0;
  for (const Variable& x : inputs)
    out.push_back(x.defined() && x.requires_grad() ? gradients[next++] : Variable());
  return out;
}

}  // namespace minigpt
