#pragma once
// Picking elements or rows by number, and the transposed operations that add them back.
//
// Indices are int32 tensors. An index outside its axis throws Error with the index, its position and the
// extent of the axis, before anything is computed. Negative indices are not counted from the end.
// The adding operations split their output over threads, never the sum: repeated indices are added in the
// order in which they occur, so results do not depend on the number of threads.

#include "tensor/tensor.h"

namespace minigpt {

// One element per index, along one axis (torch.gather). With axis = 1 of three:
//   y[i][j][k] = x[i][index[i][j][k]][k]
// index: as many dimensions as x, no longer than x on the other axes. Result: shape of index, type of x.
Tensor gather(const Tensor& x, int axis, const Tensor& index);

// The transpose of gather: a tensor of zeros of the given shape, to which src is added at the indices.
//   y[i][index[i][j][k]][k] += src[i][j][k]
// src: shape of index, float32 or float64.
Tensor scatter_add(const Shape& shape, int axis, const Tensor& index, const Tensor& src);

// Whole slices along one axis: (.., N, ..) with index (L) -> (.., L, ..).
//   y[i][j][k] = x[i][index[j]][k]
Tensor index_select(const Tensor& x, int axis, const Tensor& index);

// The transpose of index_select: zeros of the given shape, to which the slices of src are added.
//   y[i][index[j]][k] += src[i][j][k]
// src: the given shape with L in place of N, float32 or float64.
Tensor index_add(const Shape& shape, int axis, const Tensor& index, const Tensor& src);

// Row index[...] of a table for each index: weight (V, C), index of any shape -> index.shape + (C).
Tensor embedding_rows(const Tensor& weight, const Tensor& index);

// The transpose of embedding_rows: dy index.shape + (C) -> (rows, C). Rows that no index names are exactly 0.
Tensor embedding_backward(const Tensor& dy, const Tensor& index, std::int64_t rows);

}  // namespace minigpt
