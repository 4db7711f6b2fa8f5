#pragma once
// Absolute value.

#include "autograd/ops/masked_fill.h"
#include "autograd/ops/neg.h"
#include "autograd/ops/where.h"

namespace minigpt {

// y = |x|.        dx = dy * sign(x)      (0 at the kink)
inline Variable abs(const Variable& x) {
  return record("abs", abs(x.value()), {x}, save(input(0)), [](const Saved& s, const Variable& dy) {
    const Tensor z = s.input(0).value();
    return Grads{masked_fill(where(lt(z, 0.0), -dy, dy), eq(z, 0.0), 0)};
  });
}

}  // namespace minigpt
