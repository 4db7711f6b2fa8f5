#pragma once
// layer_norm: every row shifted and scaled to mean 0 and variance 1.

#include "autograd/composition.h"
#include "autograd/ops/add.h"
#include "autograd/ops/div.h"
#include "autograd/ops/mean.h"
#include "autograd/ops/mul.h"
#include "autograd/ops/reshape.h"
#include "autograd/ops/sqrt.h"
#include "autograd/ops/sub.h"
#include "tensor/norms.h"

namespace minigpt {

// The formula below in elementary ops, over the last axis: the specification of the fused op, and what a
// second derivative goes through.
inline Variable layer_norm_composed(const Variable& x, const Variable& weight, const Variable& bias,
                                    double eps) {
  const Variable centred = x - mean(x, {-1}, true);
  Variable y = centred / sqrt(mean(centred * centred, {-1}, true) + eps);
  if (weight.defined()) y = y * weight;
  if (bias.defined()) y = y + bias;
  return y;
}

namespace detail {

// The node of a forward pass that has been made: f = layer_norm of x over the last axis.
inline Variable record_layer_norm(const Variable& x, const Variable& weight, const Variable& bias, double eps,
                                  LayerNormOutput f) {
  return record("layer_norm", std::move(f.y), {x, weight, bias}, save(input(0), input(1), f.mean, f.rstd),
                [eps](const Saved& s, const Variable& dy) {
                  const Variable in = s.input(0), w = s.input(1);
                  if (recording()) {
                    // The bias is only added: its gradient is dy, which the engine sums over the rows.
                    Grads grads = differentiate(
                        [eps](const std::vector<Variable>& v) {
                          return layer_norm_composed(v[0], v[1], Variable(), eps);
                        },
                        {in, w}, dy);
                    grads.push_back(dy);
                    return grads;
                  }
                  LayerNormGradients g = layer_norm_backward(in.value(), s.other(0), s.other(1),
                                                             w.defined() ? w.value() : Tensor(), dy.value());
                  return Grads{Variable(std::move(g.dx)),
                               s.needs(1) ? Variable(std::move(g.dweight)) : Variable(),
                               s.needs(2) ? Variable(std::move(g.dbias)) : Variable()};
                });
}

// Over the last axis, which is what the kernel does.
inline Variable layer_norm_rows(const Variable& x, const Variable& weight, const Variable& bias, double eps) {
  return record_layer_norm(x, weight, bias, eps,
                           layer_norm(x.value(), weight.defined() ? weight.value() : Tensor(),
                                      bias.defined() ? bias.value() : Tensor(), eps));
}

}  // namespace detail

// y = (x - mean) / sqrt(var + eps) * weight + bias, mean and (biased) variance over the last axes, those of
// `normalized_shape`.   x, y: (..., normalized_shape)   weight, bias: normalized_shape, or undefined (1, 0)
//   with h = (x - mean) / sqrt(var + eps), g = dy * weight:
//   dx = (g - mean(g) - h * mean(g * h)) / sqrt(var + eps),   dweight = sum_rows dy * h,   dbias = sum_rows dy
// Ba, Kiros & Hinton 2016, "Layer Normalization", section 3. Throws Error where shapes or types differ.
inline Variable layer_norm(const Variable& x, const Shape& normalized_shape, const Variable& weight,
                           const Variable& bias, double eps = 1e-5) {
  const int k = normalized_shape.size(), lead = x.rank() - k;
  check(k >= 1 && lead >= 0 && Shape(x.shape().begin() + lead, x.shape().end()) == normalized_shape,
        "layer_norm", "x must end in the normalized shape: {} and {}", x.shape(), normalized_shape);
  for (const Variable* p : {&weight, &bias})
    check(!p->defined() || p->shape() == normalized_shape, "layer_norm",
          "weight and bias must have the normalized shape: {} and {}", p->defined() ? p->shape() : Shape(),
          normalized_shape);
  if (k == 1) return detail::layer_norm_rows(x, weight, bias, eps);
  // Several axes are one long row.
  Shape rows(x.shape().begin(), x.shape().begin() + lead);
  rows.push_back(numel(normalized_shape));
  const auto flat = [&](const Variable& p) { return p.defined() ? reshape(p, {rows.back()}) : p; };
  return reshape(detail::layer_norm_rows(reshape(x, rows), flat(weight), flat(bias), eps), x.shape());
}

// The same with the normalized shape taken from the weight or the bias; without both, the last axis.
inline Variable layer_norm(const Variable& x, const Variable& weight, const Variable& bias,
                           double eps = 1e-5) {
  if (weight.defined() || bias.defined())
    return layer_norm(x, weight.defined() ? weight.shape() : bias.shape(), weight, bias, eps);
  return layer_norm(x, {x.dim(-1)}, weight, bias, eps);
}

}  // namespace minigpt
