#pragma once
// Negation.

#include "autograd/record.h"
#include "tensor/elementwise.h"

namespace minigpt {

// y = -x.        dx = -dy
inline Variable neg(const Variable& x) {
  return record("neg", neg(x.value()), {x}, save(),
                [](const Saved&, const Variable& dy) { return Grads{neg(dy)}; });
}

inline Variable operator-(const Variable& x) { return neg(x); }

}  // namespace minigpt
