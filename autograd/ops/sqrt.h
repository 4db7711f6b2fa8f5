#pragma once
// Square root.

#include "autograd/ops/div.h"
#include "tensor/elementwise.h"

namespace minigpt {

// y = sqrt(x).        dx = dy / (2 y)      (infinite at x = 0)
inline Variable sqrt(const Variable& x) {
  return record("sqrt", sqrt(x.value()), {x}, save(output()),
                [](const Saved& s, const Variable& dy) { return Grads{dy / (s.output() * 2.0)}; });
}

}  // namespace minigpt
