#pragma once
// unsqueeze: inserts an axis of extent 1.

#include "autograd/ops/reshape.h"

namespace minigpt {

// y = x with a new axis of extent 1 at position `axis`; a view.        dx = dy under the shape of x
inline Variable unsqueeze(const Variable& x, int axis) {
  return record("unsqueeze", unsqueeze(x.value(), axis), {x}, save(),
                [](const Saved& s, const Variable& dy) { return Grads{reshape(dy, s.input_shape(0))}; });
}

}  // namespace minigpt
