#pragma once
// Natural logarithm.

#include "autograd/ops/div.h"
#include "tensor/elementwise.h"

namespace minigpt {

// y = ln x.        dx = dy / x
inline Variable log(const Variable& x) {
  return record("log", log(x.value()), {x}, save(input(0)),
                [](const Saved& s, const Variable& dy) { return Grads{dy / s.input(0)}; });
}

}  // namespace minigpt
