#pragma once
// expand and its counterpart: how broadcasting looks to the backward pass.

#include "autograd/engine.h"
#include "autograd/record.h"
#include "tensor/views.h"

namespace minigpt {

// y = x repeated along axes of extent 1 and along new axes on the left; a view. -1 keeps an extent.
// dx = dy summed over the repeated axes (done by the engine, as for every broadcast operand)
inline Variable expand(const Variable& x, const Shape& shape) {
  return record("expand", expand(x.value(), shape), {x}, save(),
                [](const Saved&, const Variable& dy) { return Grads{dy}; });
}

}  // namespace minigpt
