#pragma once
// Variance over axes.

#include "autograd/ops/mean.h"
#include "autograd/ops/mul.h"
#include "autograd/ops/sub.h"

namespace minigpt {

// y = sum((x - mean(x))^2) / (n - correction) over `axes` (all if none are named), n elements each;
// correction 1 is the unbiased estimate of a sample, 0 the mean square.
// dx = dy * 2 (x - mean(x)) / (n - correction)
inline Variable var(const Variable& x, const Dims& axes = {}, double correction = 1, bool keepdim = false) {
  return record("var", var(x.value(), axes, correction, keepdim), {x}, save(input(0)),
                [axes, correction](const Saved& s, const Variable& dy) {
                  const Variable z = s.input(0);
                  const double n = static_cast<double>(z.numel()) / static_cast<double>(dy.numel());
                  const Variable centred = z - mean(z, axes, true);
                  return Grads{detail::unreduce(dy * (2 / (n - correction)), z.shape(), axes) * centred};
                });
}

}  // namespace minigpt
