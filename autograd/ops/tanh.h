#pragma once
// Hyperbolic tangent.

#include "autograd/ops/mul.h"
#include "autograd/ops/sub.h"
#include "tensor/elementwise.h"

namespace minigpt {

// y = tanh(x).        dx = dy * (1 - y^2)
inline Variable tanh(const Variable& x) {
  return record("tanh", tanh(x.value()), {x}, save(output()), [](const Saved& s, const Variable& dy) {
    const Variable y = s.output();
    return Grads{dy * (1.0 - y * y)};
  });
}

}  // namespace minigpt
