#pragma once
// index_select: whole slices by number, and its transpose.

#include "autograd/record.h"
#include "tensor/gather.h"

namespace minigpt {

Variable index_select(const Variable& x, int axis, const Tensor& index);
Variable index_add(const Shape& shape, int axis, const Tensor& index, const Variable& src);

// y[i][j][k] = x[i][index[j]][k]   (axis 1 of three).   x: (.., N, ..)   index: int32 (L)   ->   y: (.., L, ..)
// dx = slices of dy added up at the indices; slices that no index names are exactly 0
inline Variable index_select(const Variable& x, int axis, const Tensor& index) {
  return record("index_select", index_select(x.value(), axis, index), {x}, save(index),
                [axis](const Saved& s, const Variable& dy) {
                  return Grads{index_add(s.input_shape(0), axis, s.other(), dy)};
                });
}

// y = zeros of `shape`, y[i][index[j]][k] += src[i][j][k].   src: `shape` with L in place of N
// dsrc = slices of dy at the indices
inline Variable index_add(const Shape& shape, int axis, const Tensor& index, const Variable& src) {
  return record(
      "index_add", index_add(shape, axis, index, src.value()), {src}, save(index),
      [axis](const Saved& s, const Variable& dy) { return Grads{index_select(dy, axis, s.other())}; });
}

}  // namespace minigpt
