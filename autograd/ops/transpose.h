#pragma once
// transpose: swaps two axes.

#include "autograd/record.h"
#include "tensor/views.h"

namespace minigpt {

// y[..i..j..] = x[..j..i..]; a view.        dx = dy with the same two axes swapped back
inline Variable transpose(const Variable& x, int a = -2, int b = -1) {
  return record("transpose", transpose(x.value(), a, b), {x}, save(),
                [a, b](const Saved&, const Variable& dy) { return Grads{transpose(dy, a, b)}; });
}

}  // namespace minigpt
