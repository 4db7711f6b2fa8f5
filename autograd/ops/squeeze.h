#pragma once
// squeeze: drops axes of extent 1.

#include "autograd/ops/reshape.h"

namespace minigpt {

// y = x without `axis`, if that has extent 1; a view.        dx = dy under the shape of x
inline Variable squeeze(const Variable& x, int axis) {
  return record("squeeze", squeeze(x.value(), axis), {x}, save(),
                [](const Saved& s, const Variable& dy) { return Grads{reshape(dy, s.input_shape(0))}; });
}

// y = x without any axis of extent 1; a view.        dx = dy under the shape of x
inline Variable squeeze(const Variable& x) {
  return record("squeeze", squeeze(x.value()), {x}, save(),
                [](const Saved& s, const Variable& dy) { return Grads{reshape(dy, s.input_shape(0))}; });
}

}  // namespace minigpt
