#pragma once
// where: picks from two tensors, element by element.

#include "autograd/ops/masked_fill.h"

namespace minigpt {

// y = a where condition, else b; all three broadcast, condition is bool.
// da = dy where condition, else 0;        db = 0 where condition, else dy
inline Variable where(const Tensor& condition, const Variable& a, const Variable& b) {
  return record("where", where(condition, a.value(), b.value()), {a, b}, save(condition),
                [](const Saved& s, const Variable& dy) {
                  const Tensor chosen = s.other();
                  return Grads{s.needs(0) ? masked_fill(dy, logical_not(chosen), 0) : Variable(),
                               s.needs(1) ? masked_fill(dy, chosen, 0) : Variable()};
                });
}

}  // namespace minigpt
