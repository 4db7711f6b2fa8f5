#pragma once
// GELU: x weighted with the probability that a standard normal number lies below it.
// Hendrycks and Gimpel 2016, "Gaussian error linear units", section 2.

#include <numbers>

#include "autograd/composition.h"
#include "autograd/ops/add.h"
#include "autograd/ops/erf.h"
#include "autograd/ops/mul.h"
#include "autograd/ops/tanh.h"

namespace minigpt {

// GELU in elementary ops: what gelu() must agree with, and what create_graph differentiates.
inline Variable gelu_composed(const Variable& x, Gelu kind) {
  const double inv_sqrt2 = 1 / std::numbers::sqrt2;
  if (kind == Gelu::erf) return x * 0.5 * (erf(x * inv_sqrt2) + 1.0);
  const double sqrt_2_over_pi = std::numbers::sqrt2 * std::numbers::inv_sqrtpi;
  return x * 0.5 * (tanh((x + x * x * x * 0.044715) * sqrt_2_over_pi) + 1.0);
}

// Gelu::erf:   y = x P, P = (1 + erf(x / sqrt(2))) / 2
//              dx = dy * (P + x p), p = e^(-x^2 / 2) / sqrt(2 pi)
// Gelu::tanh:  y = x P, P = (1 + t) / 2, t = tanh(u), u = sqrt(2 / pi) (x + 0.044715 x^3)
//              dx = dy * (P + x (1 - t^2) u' / 2), u' = sqrt(2 / pi) (1 + 0.134145 x^2)
// The tanh form is what GPT-2 was trained with; the two differ by up to 5e-4.
inline Variable gelu(const Variable& x, Gelu kind = Gelu::erf) {
  return record(
      "gelu", gelu(x.value(), kind), {x}, save(input(0)), [kind](const Saved& s, const Variable& dy) {
        const Variable z = s.input(0);
        if (!recording()) return Grads{Variable(gelu_backward(z.value(), dy.value(), kind))};
        return differentiate([kind](const std::vector<Variable>& in) { return gelu_composed(in[0], kind); },
                             {z}, dy);
      });
}

}  // namespace minigpt
