#pragma once
// alias: the identity, as a node of its own. It marks a place in the graph where a gradient can be taken.

#include "autograd/record.h"

namespace minigpt {

// y = x.        dx = dy
inline Variable alias(const Variable& x) {
  return record("alias", x.value(), {x}, save(), [](const Saved&, const Variable& dy) { return Grads{dy}; });
}

}  // namespace minigpt
