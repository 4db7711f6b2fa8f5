#pragma once
// clamp: cuts values off at two bounds.

#include <optional>

#include "autograd/ops/masked_fill.h"

namespace minigpt {

// y = min(max(x, lo), hi).        dx = dy where lo <= x <= hi, else 0      (1 on the bounds, as in PyTorch)
// A missing bound is no bound.
inline Variable clamp(const Variable& x, std::optional<double> lo, std::optional<double> hi = std::nullopt) {
  return record("clamp", clamp(x.value(), lo, hi), {x}, save(input(0)),
                [lo, hi](const Saved& s, const Variable& dy) {
                  const Tensor z = s.input(0).value();
                  const Variable above = lo ? masked_fill(dy, lt(z, *lo), 0) : dy;
                  return Grads{hi ? masked_fill(above, gt(z, *hi), 0) : above};
                });
}

}  // namespace minigpt
