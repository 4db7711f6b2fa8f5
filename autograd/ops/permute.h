#pragma once
// permute: puts the axes in another order.

#include "autograd/record.h"
#include "tensor/views.h"

namespace minigpt {

// Axis i of y is axis order[i] of x; a view.        dx = dy with axis order[i] taken from axis i again
inline Variable permute(const Variable& x, const Dims& order) {
  return record("permute", permute(x.value(), order), {x}, save(), [order](const Saved&, const Variable& dy) {
    Dims inverse = order;
    for (int i = 0; i < order.size(); ++i) inverse[normalize_axis("permute", order[i], order.size())] = i;
    return Grads{permute(dy, inverse)};
  });
}

}  // namespace minigpt
