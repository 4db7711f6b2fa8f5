#pragma once
// Activation functions as modules. The choice among them by name is in autograd/ops/activation.h.

#include "autograd/ops/activation.h"
#include "nn/module.h"

namespace minigpt {

// x * Phi(x), with the exact normal distribution function (erf) or its tanh approximation (Hendrycks & Gimpel
// 2016). nanoGPT uses erf, GPT-2 the tanh form; the two differ by up to 5e-4, so a checkpoint says which it
// was trained with.
struct GELU : Module {
  Gelu approximate = Gelu::erf;
  template <class V>
  void visit(V&&) {}
  Variable forward(const Variable& x) const { return gelu(x, approximate); }
};

// max(x, 0).
struct ReLU : Module {
  template <class V>
  void visit(V&&) {}
  Variable forward(const Variable& x) const { return relu(x); }
};

// x * sigmoid(x) (Elfwing et al. 2017).
struct SiLU : Module {
  template <class V>
  void visit(V&&) {}
  Variable forward(const Variable& x) const { return silu(x); }
};

}  // namespace minigpt
