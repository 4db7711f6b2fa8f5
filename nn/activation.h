#pragma once
// Activation functions as modules, and the choice among them by name.

#include <string_view>

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

enum class ActivationKind { gelu, gelu_tanh, relu, relu_squared, silu };

// The same choice as the fused ops name it.
inline Activation activation_of(ActivationKind kind) {
  switch (kind) {
    case ActivationKind::gelu_tanh:
      return Activation::gelu_tanh;
    case ActivationKind::relu:
      return Activation::relu;
    case ActivationKind::relu_squared:
      return Activation::relu_squared;
    case ActivationKind::silu:
      return Activation::silu;
    case ActivationKind::gelu:
      break;
  }
  return Activation::gelu_erf;
}

// The function a kind stands for; relu_squared is max(x, 0)^2 (So et al. 2021).
inline Variable activate(const Variable& x, ActivationKind kind) { return activate(x, activation_of(kind)); }

}  // namespace minigpt
