#pragma once
// A normalisation and the affine map that reads it, as one op that does not keep what passes between them: it is
// computed again for the backward pass, which costs one pass over x and saves a tensor of its size.

#include "autograd/composition.h"
#include "autograd/ops/layer_norm.h"
#include "autograd/ops/linear.h"
#include "autograd/ops/rms_norm.h"

namespace minigpt {

namespace detail {

// Of y = h W^T.
struct LinearGradients {
  Tensor dh, dw;
};
inline LinearGradients linear_gradients(const Tensor& h, const Tensor& w, const Variable& dy,
                                        Precision precision) {
  const ScopedMatmulPrecision scope(precision);
  const NoGrad no_grad;
  return {matmul(dy, Variable(w)).value(),
          matmul(transpose(as_rows(dy), 0, 1), as_rows(Variable(h))).value()};
}

}  // namespace detail

// y = h W^T + b,  h = layer_norm(x, gain, shift).
//   x: (..., C)   gain, shift: (C), or undefined   W: (N, C)   b: (N), or undefined   ->   y: (..., N)
//   dh = dy W,   dW = dy^T h,   db = sum of dy (over all rows);   dx, dgain, dshift: those of layer_norm from dh
// Multiplies in matmul_precision(). Throws Error where shapes or types differ.
inline Variable layer_norm_linear(const Variable& x, const Variable& gain, const Variable& shift,
                                  const Variable& w, const Variable& b, double eps = 1e-5) {
  if (composing()) [[unlikely]]
    return linear(layer_norm(x, gain, shift, eps), w, b);
  const auto value_of = [](const Variable& v) { return v.defined() ? v.value() : Tensor(); };
  const Precision precision = matmul_precision();
  LayerNormOutput f = layer_norm(x.value(), value_of(gain), value_of(shift), eps);
  Tensor y = linear(f.y, w.value(), value_of(b), Activation::none, nullptr, precision);
  return record(
      "layer_norm_linear", std::move(y), {x, gain, shift, w, b},
      save(input(0), input(1), input(2), input(3), input(4), f.mean, f.rstd),
      [eps, precision](const Saved& s, const Variable& dy) {
        const Variable in = s.input(0), g = s.input(1), shifted = s.input(2), weight = s.input(3);
        if (recording()) {
          const ScopedMatmulPrecision scope(precision);
          return differentiate(
              [eps](const std::vector<Variable>& v) {
                return linear(layer_norm_composed(v[0], v[1], v[2], eps), v[3], v[4]);
              },
              {in, g, shifted, weight, s.input(4)}, dy);
        }
        const Tensor gained = g.defined() ? g.value() : Tensor();
        const Tensor h =
            layer_norm(in.value(), gained, shifted.defined() ? shifted.value() : Tensor(), eps).y;
        detail::LinearGradients d = detail::linear_gradients(h, weight.value(), dy, precision);
        LayerNormGradients n = layer_norm_backward(in.value(), s.other(0), s.other(1), gained, d.dh);
        return Grads{Variable(std::move(n.dx)), s.needs(1) ? Variable(std::move(n.dweight)) : Variable(),
                     s.needs(2) ? Variable(std::move(n.dbias)) : Variable(), Variable(std::move(d.dw)),
                     s.needs(4) ? dy : Variable()};
      });
}

// y = h W^T + b,  h = rms_norm(x, gain).   As layer_norm_linear.
inline Variable rms_norm_linear(const Variable& x, const Variable& gain, const Variable& w, const Variable& b,
                                double eps = 1e-5) {
  if (composing()) [[unlikely]]
    return linear(rms_norm(x, gain, eps), w, b);
  const auto value_of = [](const Variable& v) { return v.defined() ? v.value() : Tensor(); };
  const Precision precision = matmul_precision();
  RmsNormOutput f = rms_norm(x.value(), value_of(gain), eps);
  Tensor y = linear(f.y, w.value(), value_of(b), Activation::none, nullptr, precision);
  return record(
      "rms_norm_linear", std::move(y), {x, gain, w, b}, save(input(0), input(1), input(2), input(3), f.rrms),
      [eps, precision](const Saved& s, const Variable& dy) {
        const Variable in = s.input(0), g = s.input(1), weight = s.input(2);
        if (recording()) {
          const ScopedMatmulPrecision scope(precision);
          return differentiate(
              [eps](const std::vector<Variable>& v) {
                return linear(rms_norm_composed(v[0], v[1], eps), v[2], v[3]);
              },
              {in, g, weight, s.input(3)}, dy);
        }
        const Tensor gained = g.defined() ? g.value() : Tensor();
        const Tensor h = rms_norm(in.value(), gained, eps).y;
        detail::LinearGradients d = detail::linear_gradients(h, weight.value(), dy, precision);
        RmsNormGradients n = rms_norm_backward(in.value(), s.other(), gained, d.dh);
        return Grads{Variable(std::move(n.dx)), s.needs(1) ? Variable(std::move(n.dweight)) : Variable(),
                     Variable(std::move(d.dw)), s.needs(3) ? dy : Variable()};
      });
}

}  // namespace minigpt
