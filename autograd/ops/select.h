#pragma once
// select: one element of an axis.

#include "autograd/ops/slice.h"
#include "autograd/ops/unsqueeze.h"

namespace minigpt {

// y = x at `index` along `axis`, which disappears; a view. index may be negative.
// dx = zeros of the shape of x, with dy at that index
inline Variable select(const Variable& x, int axis, std::int64_t index) {
  return record("select", select(x.value(), axis, index), {x}, save(),
                [axis, index](const Saved& s, const Variable& dy) {
                  const Shape& shape = s.input_shape(0);
                  const int a = normalize_axis("select", axis, shape.size());
                  return Grads{pad(unsqueeze(dy, a), shape, a, index < 0 ? index + shape[a] : index, 1)};
                });
}

}  // namespace minigpt
