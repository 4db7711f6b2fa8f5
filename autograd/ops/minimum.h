#pragma once
// The smaller of two tensors, element by element.

#include "autograd/ops/masked_fill.h"
#include "autograd/ops/mul.h"
#include "autograd/ops/where.h"

namespace minigpt {

// y = min(a, b), broadcast.        da = dy where a < b, dy / 2 where a = b, else 0; db likewise
inline Variable minimum(const Variable& a, const Variable& b) {
  return record("minimum", minimum(a.value(), b.value()), {a, b}, save(input(0), input(1)),
                [](const Saved& s, const Variable& dy) {
                  const Tensor p = s.input(0).value(), q = s.input(1).value();
                  const Variable shared = where(eq(p, q), dy * 0.5, dy);
                  return Grads{s.needs(0) ? masked_fill(shared, gt(p, q), 0) : Variable(),
                               s.needs(1) ? masked_fill(shared, lt(p, q), 0) : Variable()};
                });
}

}  // namespace minigpt
