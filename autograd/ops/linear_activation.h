#pragma once
// linear_activation: an affine map and the function after it, fused: the function is applied to each tile of the
// product while it is in the cache.

#include "autograd/composition.h"
#include "autograd/ops/activation.h"
#include "autograd/ops/linear.h"

namespace minigpt {

// The op in two steps: its specification, and what a second derivative goes through.
inline Variable linear_activation_composed(const Variable& x, const Variable& weight, const Variable& bias,
                                           Activation f) {
  return activate(linear(x, weight, bias), f);
}

// y = f(z), z = x W^T + b.   x: (..., K)   weight W: (N, K)   bias b: (N), or undefined   ->   y: (..., N)
//   dz = dy * f'(z),   dx = dz W,   dW = dz^T x,   db = sum of dz over all rows
// Multiplies in matmul_precision(). Throws Error if the inner extents or the types differ.
inline Variable linear_activation(const Variable& x, const Variable& weight, const Variable& bias,
                                  Activation f) {
  if (f == Activation::none) return linear(x, weight, bias);
  if (composing()) [[unlikely]]
    return linear_activation_composed(x, weight, bias, f);
  const Precision precision = matmul_precision();
  Tensor z;
  Tensor y = linear(x.value(), weight.value(), bias.defined() ? bias.value() : Tensor(), f,
                    recording() ? &z : nullptr, precision);
  return record(
      "linear_activation", std::move(y), {x, weight, bias}, save(input(0), input(1), input(2), z),
      [f, precision](const Saved& s, const Variable& dy) {
        const ScopedMatmulPrecision scope(precision);
        const Variable in = s.input(0), w = s.input(1);
        if (recording())
          return differentiate(
              [f](const std::vector<Variable>& v) { return linear_activation_composed(v[0], v[1], v[2], f); },
              {in, w, s.input(2)}, dy);
        const Variable dz(activation_backward(f, s.other(0), dy.value()));
        return Grads{
            s.needs(0) ? matmul(dz, w) : Variable(),
            s.needs(1) ? matmul(transpose(detail::as_rows(dz), 0, 1), detail::as_rows(in)) : Variable(),
            s.needs(2) ? dz : Variable()};
      });
}

}  // namespace minigpt
