#pragma once
// concat: tensors one after the other along an axis.

#include <vector>

#include "autograd/ops/slice.h"
#include "tensor/join.h"

namespace minigpt {

namespace detail {
inline std::vector<Tensor> values_of(const std::vector<Variable>& variables) {
  std::vector<Tensor> values;
  for (const Variable& v : variables) values.push_back(v.value());
  return values;
}
}  // namespace detail

// y = x_0, x_1, ... side by side along an existing axis; they agree on all others.
// dx_i = its part of dy
inline Variable concat(const std::vector<Variable>& xs, int axis = 0) {
  return record("concat", concat(detail::values_of(xs), axis), xs.data(), xs.size(), save(),
                [axis](const Saved& s, const Variable& dy) {
                  const int a = normalize_axis("concat", axis, dy.rank());
                  Grads grads;
                  std::int64_t start = 0;
                  for (int i = 0; i < s.inputs(); ++i) {
                    const std::int64_t end = start + s.input_shape(i)[a];
                    grads.push_back(s.needs(i) ? slice(dy, a, start, end) : Variable());
                    start = end;
                  }
                  return grads;
                });
}

}  // namespace minigpt
