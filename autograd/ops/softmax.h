#pragma once
// softmax: scores to probabilities.

#include "autograd/ops/mul.h"
#include "autograd/ops/sub.h"
#include "autograd/ops/sum.h"
#include "autograd/ops/transpose.h"
#include "autograd/record.h"
#include "tensor/rows.h"

namespace minigpt {

// y_j = exp(x_j) / sum_k exp(x_k) along one axis; computed above the maximum, so no logit is too large.
//   dx = y * (dy - sum(dy * y))
// An entry of -inf gets exactly 0; a row of nothing but -inf gives zeros and no gradient (tensor/rows.h).
inline Variable softmax(const Variable& x, int axis = -1) {
  const int last = x.rank() - 1;
  if (x.rank() > 0 && normalize_axis("softmax", axis, x.rank()) != last)
    return transpose(softmax(transpose(x, axis, last)), axis, last);
  return record("softmax", softmax(x.value()), {x}, save(output()), [](const Saved& s, const Variable& dy) {
    const Variable y = s.output();
    if (!recording()) return Grads{Variable(softmax_backward(y.value(), dy.value()))};
    return Grads{y * (dy - sum(dy * y, {-1}, true))};
  });
}

}  // namespace minigpt
