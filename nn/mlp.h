#pragma once
// The feed-forward half of a transformer block: it works on each position alone.

#include "autograd/ops/mlp.h"
#include "nn/activation.h"
#include "nn/dropout.h"
#include "nn/linear.h"

namespace minigpt {

// y = dropout(W2 act(W1 x + b1) + b2).   x, y: (B, T, C), hidden width 4C      (Vaswani et al. 2017,
// section 3.3)
struct Mlp : Module {
  Linear c_fc, c_proj;
  Dropout dropout;
  Activation activation = Activation::gelu_erf;

  Mlp() = default;
  Mlp(std::int64_t c, bool bias, double p, Activation kind, Generator& rng)
      : c_fc(c, 4 * c, bias, rng), c_proj(4 * c, c, bias, rng), dropout(p), activation(kind) {}

  template <class V>
  void visit(V&& v) {
    v("c_fc", c_fc);
    v("c_proj", c_proj);
    v("dropout", dropout);
  }

  Variable forward(const Variable& x, const Mode& mode) const {
    const Scope scope(path);
    // The layers in one fused op: their hidden values (B, T, 4C) never leave the cache.
    const Variable y = mlp(x, c_fc.weight, c_fc.bias, c_proj.weight, c_proj.bias, activation);
    return observed(dropout.forward(y, mode), mode);
  }
};

}  // namespace minigpt
