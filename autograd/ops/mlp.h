#pragma once
// mlp: two affine maps with a function between, the feed-forward half of a transformer block, fused so that the
// wide values in the middle pass through the cache and not through memory (tensor/mlp.h).

#include "autograd/composition.h"
#include "autograd/ops/linear_activation.h"
#include "tensor/mlp.h"

namespace minigpt {

// The op in steps: its specification, and what a second derivative goes through.
inline Variable mlp_composed(const Variable& x, const Variable& w1, const Variable& b1, const Variable& w2,
                             const Variable& b2, Activation f) {
  return linear(activate(linear(x, w1, b1), f), w2, b2);
}

// y = f(z) W2^T + b2,  z = x W1^T + b1.
//   x: (..., C)   W1: (F, C)   b1: (F) or undefined   W2: (N, F)   b2: (N) or undefined   ->   y: (..., N)
// With h = f(z), dz = (dy W2) * f'(z), sums over all rows:
//   dx = dz W1,   dW1 = dz^T x,   db1 = sum of dz,   dW2 = dy^T h,   db2 = sum of dy
// Multiplies in matmul_precision(). Vaswani et al. 2017, "Attention is all you need", section 3.3.
// Throws Error where shapes or types differ.
inline Variable mlp(const Variable& x, const Variable& w1, const Variable& b1, const Variable& w2,
                    const Variable& b2, Activation f) {
  if (composing()) [[unlikely]]
    return mlp_composed(x, w1, b1, w2, b2, f);
  const auto value_of = [](const Variable& v) { return v.defined() ? v.value() : Tensor(); };
  const Precision precision = matmul_precision();
  Tensor z;
  Tensor y = mlp(x.value(), w1.value(), value_of(b1), w2.value(), value_of(b2), f, recording() ? &z : nullptr,
                 precision);
  return record(
      "mlp", std::move(y), {x, w1, b1, w2, b2}, save(input(0), input(1), input(2), input(3), input(4), z),
      [f, precision](const Saved& s, const Variable& dy) {
        const ScopedMatmulPrecision scope(precision);
        if (recording())
          return differentiate(
              [f](const std::vector<Variable>& v) { return mlp_composed(v[0], v[1], v[2], v[3], v[4], f); },
              {s.input(0), s.input(1), s.input(2), s.input(3), s.input(4)}, dy);
        MlpGradients g = mlp_backward(s.input(0).value(), s.input(1).value(), s.input(3).value(), s.other(0),
                                      dy.value(), f, s.needs(2), s.needs(4), precision);
        return Grads{Variable(std::move(g.dx)), Variable(std::move(g.dw1)),
                     s.needs(2) ? Variable(std::move(g.db1)) : Variable(), Variable(std::move(g.dw2)),
                     s.needs(4) ? Variable(std::move(g.db2)) : Variable()};
      });
}

}  // namespace minigpt
