#pragma once
// Matrix product.

#include "autograd/ops/reshape.h"
#include "autograd/ops/transpose.h"
#include "autograd/record.h"
#include "tensor/matmul.h"

namespace minigpt {

Variable matmul(const Variable& a, const Variable& b);

namespace detail {

// All leading axes merged: (..., C) -> (rows, C). A vector becomes one row.
inline Variable as_rows(const Variable& x) {
  if (x.rank() == 2) return x;
  const std::int64_t last = x.dim(-1);
  std::int64_t rows = 1;
  for (int i = 0; i + 1 < x.rank(); ++i) rows *= x.dim(i);
  return reshape(x, {rows, last});
}

// x with an axis of extent 1 put in front of `axis`.
inline Variable with_axis(const Variable& x, int axis) {
  Shape shape = x.shape();
  shape.insert(axis, 1);
  return reshape(x, shape);
}

}  // namespace detail

// y = a b.   (..., M, K) x (..., K, N) -> (..., M, N); leading axes broadcast.
//   da = dy b^T,   db = a^T dy      (the engine sums over broadcast axes)
// A 1-D a is a row that disappears from the result, a 1-D b a column; two of them give a scalar.
// Multiplies in matmul_precision(). Throws Error if the inner extents or the types differ.
inline Variable matmul(const Variable& a, const Variable& b) {
  const Precision precision = matmul_precision();
  return record("matmul", matmul(a.value(), b.value(), precision), {a, b}, save(input(0), input(1)),
                [precision](const Saved& s, const Variable& dy) {
                  const ScopedMatmulPrecision scope(precision);
                  const bool row = s.input_shape(0).size() == 1, column = s.input_shape(1).size() == 1;
                  // Give vectors back the axis they lost, so that the two formulas cover every case.
                  const Variable x = row ? detail::with_axis(s.input(0), 0) : s.input(0);
                  const Variable w = column ? detail::with_axis(s.input(1), 1) : s.input(1);
                  Variable g = column ? detail::with_axis(dy, dy.rank()) : dy;
                  if (row) g = detail::with_axis(g, g.rank() - 1);
                  Grads grads;
                  // A row comes back as (..., 1, K); the sum to (K) drops that axis too.
                  grads.push_back(s.needs(0) ? matmul(g, transpose(w, -2, -1)) : Variable());
                  if (!s.needs(1)) {
                    grads.push_back(Variable());
                  } else if (w.rank() == 2) {
                    // One matrix for all batches: one long product sums over them, without a gradient per batch.
                    Variable db = matmul(transpose(detail::as_rows(x), 0, 1), detail::as_rows(g));
                    grads.push_back(column ? reshape(db, s.input_shape(1)) : db);
                  } else {
                    grads.push_back(matmul(transpose(x, -2, -1), g));
                  }
                  return grads;
                });
}

}  // namespace minigpt
