#pragma once
// Activation functions as modules, and the choice among them by name.

#include <string_view>

#include "autograd/ops/gelu.h"
#include "autograd/ops/mul.h"
#include "autograd/ops/relu.h"
#include "autograd/ops/silu.h"
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

enum class ActivationKind { gelu, gelu_tanh, relu, relu_squared, silu };

// The function a kind stands for; relu_squared is max(x, 0)^2 (So et al. 2021).
inline Variable activate(const Variable& x, ActivationKind kind) {
  switch (kind) {
    case ActivationKind::gelu_tanh:
      return gelu(x, Gelu::tanh);
    case ActivationKind::relu:
      return relu(x);
    case ActivationKind::relu_squared: {
      const Variable y = relu(x);
      return y * y;
    }
    case ActivationKind::silu:
      return silu(x);
    case ActivationKind::gelu:
      break;
  }
  return gelu(x, Gelu::erf);
}

}  // namespace minigpt
