#pragma once
// Largest element, over everything, over one axis, or over several.

#include "autograd/ops/div.h"
#include "autograd/ops/gather.h"
#include "autograd/ops/masked_fill.h"
#include "autograd/ops/sum.h"
#include "autograd/ops/unsqueeze.h"
#include "tensor/elementwise.h"
#include "tensor/reduce.h"

namespace minigpt {

// y = max of x over `axes` (all if none are named).
// dx = dy / k where x is one of the k largest elements, else 0: equal elements share the gradient evenly
inline Variable amax(const Variable& x, const Dims& axes = {}, bool keepdim = false) {
  return record("amax", max(x.value(), axes, keepdim), {x}, save(input(0), output()),
                [axes](const Saved& s, const Variable& dy) {
                  const Tensor z = s.input(0).value();
                  const Shape kept = detail::kept_shape(z.shape(), axes);
                  const Tensor largest = eq(z, reshape(s.output().value(), kept));
                  const Tensor k = sum(largest.to(dy.dtype()), axes, true);
                  return Grads{masked_fill(reshape(dy, kept) / Variable(k), logical_not(largest), 0)};
                });
}

// The largest of all elements; ties as in amax.
inline Variable max(const Variable& x) { return amax(x); }

struct MaxResult {
  Variable values;
  Tensor indices;  // int32: where along the axis each one was; the first of equal ones
};

// y = max of x along one axis.        dx = dy at `indices`, else 0: the first of equal elements gets all
inline MaxResult max(const Variable& x, int axis, bool keepdim = false) {
  const MaxAlong found = max_along(x.value(), axis, keepdim);
  Variable values = record(
      "max", found.values, {x}, save(found.indices), [axis, keepdim](const Saved& s, const Variable& dy) {
        const Tensor at = s.other();
        return Grads{scatter_add(s.input_shape(0), axis, keepdim ? at : unsqueeze(at, axis),
                                 keepdim ? dy : unsqueeze(dy, axis))};
      });
  return {values, found.indices};
}

}  // namespace minigpt
