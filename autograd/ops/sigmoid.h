#pragma once
// Logistic function.

#include "autograd/ops/mul.h"
#include "autograd/ops/sub.h"
#include "tensor/elementwise.h"

namespace minigpt {

// y = 1 / (1 + e^-x).        dx = dy * y (1 - y)
inline Variable sigmoid(const Variable& x) {
  return record("sigmoid", sigmoid(x.value()), {x}, save(output()), [](const Saved& s, const Variable& dy) {
    const Variable y = s.output();
    return Grads{dy * ((1.0 - y) * y)};
  });
}

}  // namespace minigpt
