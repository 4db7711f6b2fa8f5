#pragma once
// gather: one element per index along an axis, and its transpose.

#include "autograd/record.h"
#include "tensor/gather.h"

namespace minigpt {

Variable gather(const Variable& x, int axis, const Tensor& index);
Variable scatter_add(const Shape& shape, int axis, const Tensor& index, const Variable& src);

// y[i][j][k] = x[i][index[i][j][k]][k]   (axis 1 of three).   index: int32, no longer than x on other axes
// dx = dy added up at the indices; an index that occurs n times collects n gradients
inline Variable gather(const Variable& x, int axis, const Tensor& index) {
  return record("gather", gather(x.value(), axis, index), {x}, save(index),
                [axis](const Saved& s, const Variable& dy) {
                  return Grads{scatter_add(s.input_shape(0), axis, s.other(), dy)};
                });
}

// y = zeros of `shape`, y[i][index[i][j][k]][k] += src[i][j][k].   src: shape of index
// dsrc = dy gathered at the indices
inline Variable scatter_add(const Shape& shape, int axis, const Tensor& index, const Variable& src) {
  return record("scatter_add", scatter_add(shape, axis, index, src.value()), {src}, save(index),
                [axis](const Saved& s, const Variable& dy) { return Grads{gather(dy, axis, s.other())}; });
}

}  // namespace minigpt
