#pragma once
// stack: tensors of one shape along a new axis.

#include "autograd/ops/concat.h"
#include "autograd/ops/select.h"

namespace minigpt {

// y[.., i, ..] = x_i, with i along the new axis.        dx_i = dy at index i
inline Variable stack(const std::vector<Variable>& xs, int axis = 0) {
  return record("stack", stack(detail::values_of(xs), axis), xs.data(), xs.size(), save(),
                [axis](const Saved& s, const Variable& dy) {
                  Grads grads;
                  for (int i = 0; i < s.inputs(); ++i)
                    grads.push_back(s.needs(i) ? select(dy, axis, i) : Variable());
                  return grads;
                });
}

}  // namespace minigpt
