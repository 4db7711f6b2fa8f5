#pragma once
// Power with a fixed exponent.

#include "autograd/ops/mul.h"
#include "tensor/elementwise.h"

namespace minigpt {

// y = x^p, element by element.        dx = dy * p x^(p - 1)
// For p = 0 the gradient is exactly 0, also at x = 0, where the formula would give 0 * inf (PyTorch's rule).
inline Variable pow(const Variable& x, double p) {
  return record("pow", pow(x.value(), p), {x}, save(input(0)), [p](const Saved& s, const Variable& dy) {
    if (p == 0) return Grads{Variable(zeros(dy.shape(), dy.dtype()))};
    return Grads{dy * (pow(s.input(0), p - 1) * p)};
  });
}

}  // namespace minigpt
