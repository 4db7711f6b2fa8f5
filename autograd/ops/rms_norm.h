#pragma once
// rms_norm: every row scaled to a root mean square of 1.

#include "autograd/composition.h"
#include "autograd/ops/add.h"
#include "autograd/ops/div.h"
#include "autograd/ops/mean.h"
#include "autograd/ops/mul.h"
#include "autograd/ops/sqrt.h"
#include "tensor/norms.h"

namespace minigpt {

// The formula below in elementary ops: the specification of the fused op, and what a second derivative goes
// through.
inline Variable rms_norm_composed(const Variable& x, const Variable& weight, double eps) {
  const Variable y = x / sqrt(mean(x * x, {-1}, true) + eps);
  return weight.defined() ? y * weight : y;
}

namespace detail {

// The node of a forward pass that has been made: f = rms_norm of x.
inline Variable record_rms_norm(const Variable& x, const Variable& weight, double eps, RmsNormOutput f) {
  return record(
      "rms_norm", std::move(f.y), {x, weight}, save(input(0), input(1), f.rrms),
      [eps](const Saved& s, const Variable& dy) {
        const Variable in = s.input(0), w = s.input(1);
        if (recording())
          return differentiate(
              [eps](const std::vector<Variable>& v) { return rms_norm_composed(v[0], v[1], eps); }, {in, w},
              dy);
        RmsNormGradients g =
            rms_norm_backward(in.value(), s.other(), w.defined() ? w.value() : Tensor(), dy.value());
        return Grads{Variable(std::move(g.dx)), s.needs(1) ? Variable(std::move(g.dweight)) : Variable()};
      });
}

}  // namespace detail

// y = x / sqrt(mean(x^2) + eps) * weight over the last axis.   x, y: (..., C)   weight: (C), or undefined (1)
//   with h = x / sqrt(mean(x^2) + eps), g = dy * weight:
//   dx = (g - h * mean(g * h)) / sqrt(mean(x^2) + eps),   dweight = sum_rows dy * h
// Zhang & Sennrich 2019, "Root Mean Square Layer Normalization", section 3. Throws Error where shapes or types
// differ.
inline Variable rms_norm(const Variable& x, const Variable& weight, double eps = 1e-5) {
  return detail::record_rms_norm(x, weight, eps,
                                 rms_norm(x.value(), weight.defined() ? weight.value() : Tensor(), eps));
}

}  // namespace minigpt
