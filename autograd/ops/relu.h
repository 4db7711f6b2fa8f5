#pragma once
// Rectifier.

#include "autograd/record.h"
#include "tensor/elementwise.h"

namespace minigpt {

// dx = dy where y > 0, else 0. It is linear in dy, and therefore its own derivative. y is a constant here:
// the second derivative of relu is 0.
inline Variable relu_backward(const Tensor& y, const Variable& dy) {
  return record("relu_backward", relu_backward(y, dy.value()), {dy}, save(y),
                [](const Saved& s, const Variable& ddx) { return Grads{relu_backward(s.other(), ddx)}; });
}

// y = max(x, 0).        dx = dy where x > 0, else 0      (0 at the kink; y > 0 tells as much as x > 0)
inline Variable relu(const Variable& x) {
  return record("relu", relu(x.value()), {x}, save(output()), [](const Saved& s, const Variable& dy) {
    return Grads{relu_backward(s.output_value(), dy)};
  });
}

}  // namespace minigpt
