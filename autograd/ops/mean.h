#pragma once
// Mean over axes.

#include "autograd/ops/div.h"
#include "autograd/ops/sum.h"

namespace minigpt {

// y = mean of x over `axes` (all if none are named), n elements each.        dx = dy / n, repeated
inline Variable mean(const Variable& x, const Dims& axes = {}, bool keepdim = false) {
  return record("mean", mean(x.value(), axes, keepdim), {x}, save(),
                [axes](const Saved& s, const Variable& dy) {
                  const Shape& shape = s.input_shape(0);
                  const double n = static_cast<double>(numel(shape)) / static_cast<double>(dy.numel());
                  return Grads{detail::unreduce(dy / n, shape, axes)};
                });
}

}  // namespace minigpt
