#pragma once
// SiLU, also called swish: a gate that opens with its own input.

#include "autograd/composition.h"
#include "autograd/ops/mul.h"
#include "autograd/ops/sigmoid.h"

namespace minigpt {

// y = x * sigmoid(x) in elementary ops: what silu() must agree with, and what create_graph differentiates.
inline Variable silu_composed(const Variable& x) { return x * sigmoid(x); }

// y = x s, s = sigmoid(x).        dx = dy * s (1 + x (1 - s))
// Elfwing, Uchibe and Doya 2018, "Sigmoid-weighted linear units", section 2.1.
inline Variable silu(const Variable& x) {
  return record("silu", silu(x.value()), {x}, save(input(0)), [](const Saved& s, const Variable& dy) {
    const Variable z = s.input(0);
    if (!recording()) return Grads{Variable(silu_backward(z.value(), dy.value()))};
    return differentiate([](const std::vector<Variable>& in) { return silu_composed(in[0]); }, {z}, dy);
  });
}

}  // namespace minigpt
