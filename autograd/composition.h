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
