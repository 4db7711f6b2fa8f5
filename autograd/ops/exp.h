#pragma once
// Exponential.

#include "autograd/ops/mul.h"
#include "tensor/elementwise.h"

namespace minigpt {

// y = e^x.        dx = dy * y
inline Variable exp(const Variable& x) {
  return record("exp", exp(x.value()), {x}, save(output()),
                [](const Saved& s, const Variable& dy) { return Grads{detail::times(dy, s, output())}; });
}

}  // namespace minigpt
