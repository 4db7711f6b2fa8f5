#pragma once
// Normalisation layers: they keep the scale of activations the same at every depth.

#include "autograd/ops/norm_linear.h"
#include "autograd/ops/residual_norm.h"
#include "nn/linear.h"

namespace minigpt {

// y = (x - mean) / sqrt(var + eps) * weight + bias over the last axis, or the last axes.   x, y: (..., C)   weight,
// bias: (C) (Ba, Kiros & Hinton 2016.) weight starts at 1, bias at 0; both may be absent.
struct LayerNorm : Module {
  Variable weight, bias;
  double eps = 1e-5;
  Shape normalized_shape;  // the axes that are normalised together, the last of x

  LayerNorm() = default;
  explicit LayerNorm(std::int64_t c, bool with_bias = true, bool affine = true)
      : LayerNorm(Shape{c}, with_bias, affine) {}
  explicit LayerNorm(const Shape& shape, bool with_bias = true, bool affine = true)
      : normalized_shape(shape) {
    if (affine) weight = Variable(ones(shape), true);
    if (affine && with_bias) bias = Variable(zeros(shape), true);
  }

  template <class V>
  void visit(V&& v) {
    v("weight", weight);
    v("bias", bias);
  }

  Variable forward(const Variable& x) const {
    const Scope scope(path);
    return layer_norm(x, normalized_shape, weight, bias, eps);
  }
};

// y = x / sqrt(mean(x^2) + eps) * weight over the last axis: LayerNorm without the centring (Zhang & Sennrich
// 2019).
struct RMSNorm : Module {
  Variable weight;
  double eps = 1e-5;

  RMSNorm() = default;
  explicit RMSNorm(std::int64_t c, bool affine = true) {
    if (affine) weight = Variable(ones({c}), true);
  }

  template <class V>
  void visit(V&& v) {
    v("weight", weight);
  }

  Variable forward(const Variable& x) const {
    const Scope scope(path);
    return rms_norm(x, weight, eps);
  }
};

// The normalisation of a GPT block: one or the other, by configuration.
enum class NormKind { layer, rms };

struct Norm : Module {
  NormKind kind = NormKind::layer;
  LayerNorm layer;
  RMSNorm rms;

  Norm() = default;
  // gain: with a learned weight. bias: with a learned bias too (layer norm only).
  Norm(NormKind k, std::int64_t c, bool gain, bool bias) : kind(k) {
    if (k == NormKind::layer)
      layer = LayerNorm(c, bias, gain);
    else
      rms = RMSNorm(c, gain);
  }

  template <class V>
  void visit(V&& v) {
    // The chosen layer's parameters appear as this module's own: "ln_1.weight".
    if (kind == NormKind::layer)
      layer.visit(v);
    else
      rms.visit(v);
  }

  Variable forward(const Variable& x) const {
    const Scope scope(path);
    return kind == NormKind::layer ? layer_norm(x, layer.weight, layer.bias, layer.eps)
                                   : rms_norm(x, rms.weight, rms.eps);
  }

  // layer.forward(forward(x)) as one op, which keeps less.
  Variable then(const Linear& next, const Variable& x) const {
    const Scope scope(next.path);
    return kind == NormKind::layer
               ? layer_norm_linear(x, layer.weight, layer.bias, next.weight, next.bias, layer.eps)
               : rms_norm_linear(x, rms.weight, next.weight, next.bias, rms.eps);
  }

  // x + branch, and its normalisation.
  ResidualNorm forward(const Variable& x, const Variable& branch) const {
    const Scope scope(path);
    return kind == NormKind::layer ? residual_layer_norm(x, branch, layer.weight, layer.bias, layer.eps)
                                   : residual_rms_norm(x, branch, rms.weight, rms.eps);
  }
};

}  // namespace minigpt
