#pragma once
// masked_fill: overwrites the elements that a mask marks.

#include "autograd/record.h"
#include "tensor/elementwise.h"

namespace minigpt {

// y = value where mask, else x. mask: bool, broadcast to x.        dx = 0 where mask, else dy
inline Variable masked_fill(const Variable& x, const Tensor& mask, double value) {
  return record("masked_fill", masked_fill(x.value(), mask, value), {x}, save(mask),
                [](const Saved& s, const Variable& dy) { return Grads{masked_fill(dy, s.other(), 0)}; });
}

}  // namespace minigpt
