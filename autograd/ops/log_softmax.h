#pragma once
// log_softmax: scores to log-probabilities.

#include "autograd/ops/exp.h"
#include "autograd/ops/mul.h"
#include "autograd/ops/sub.h"
#include "autograd/ops/sum.h"
#include "autograd/ops/transpose.h"
#include "autograd/record.h"
#include "tensor/rows.h"

namespace minigpt {

// y_j = x_j - log(sum_k exp(x_k)) along one axis: the logarithm of softmax, where log(softmax(x)) would take
// log(0).
//   dx = dy - exp(y) * sum(dy)
// A row of nothing but -inf stays -inf and has no gradient (tensor/rows.h).
inline Variable log_softmax(const Variable& x, int axis = -1) {
  const int last = x.rank() - 1;
  if (x.rank() > 0 && normalize_axis("log_softmax", axis, x.rank()) != last)
    return transpose(log_softmax(transpose(x, axis, last)), axis, last);
  return record("log_softmax", log_softmax(x.value()), {x}, save(output()),
                [](const Saved& s, const Variable& dy) {
                  const Variable y = s.output();
                  if (!recording()) return Grads{Variable(log_softmax_backward(y.value(), dy.value()))};
                  return Grads{dy - exp(y) * sum(dy, {-1}, true)};
                });
}

}  // namespace minigpt
