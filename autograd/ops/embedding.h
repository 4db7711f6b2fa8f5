#pragma once
// embedding: rows of a table by number, and its transpose.

#include "autograd/ops/where.h"
#include "autograd/record.h"
#include "tensor/gather.h"
#include "tensor/views.h"

namespace minigpt {

Variable embedding(const Variable& weight, const Tensor& index);
Variable embedding_backward(const Variable& dy, const Tensor& index, std::int64_t rows);

// y[...] = weight[index[...]].   weight: (V, C)   index: int32, any shape   ->   y: index.shape + (C)
// dweight[v] = sum of dy over the places where index is v; rows that no index names are exactly 0
// Throws Error on an index outside [0, V), naming it, its position and V.
inline Variable embedding(const Variable& weight, const Tensor& index) {
  return record("embedding", embedding_rows(weight.value(), index), {weight}, save(index),
                [](const Saved& s, const Variable& dy) {
                  return Grads{embedding_backward(dy, s.other(), s.input_shape(0)[0])};
                });
}

// The same, but row `padding` of the table never learns: it gets no gradient. For sequences filled up to a
// common length with a symbol that means nothing.
inline Variable embedding(const Variable& weight, const Tensor& index, std::int64_t padding) {
  const Variable y = embedding(weight, index);
  return where(unsqueeze(eq(index, static_cast<double>(padding)), -1), y.detach(), y);
}

// y (rows, C) = rows of dy added up at the indices.        ddy = embedding(dy', index), since this is linear
inline Variable embedding_backward(const Variable& dy, const Tensor& index, std::int64_t rows) {
  return record("embedding_backward", embedding_backward(dy.value(), index, rows), {dy}, save(index),
                [](const Saved& s, const Variable& ddy) { return Grads{embedding(ddy, s.other())}; });
}

}  // namespace minigpt
