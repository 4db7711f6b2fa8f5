#pragma once
// linear: the affine map at the heart of every layer.

#include "autograd/ops/matmul.h"

namespace minigpt {

// y = x W^T + b.   x: (..., K)   weight W: (N, K)   bias b: (N), or undefined   ->   y: (..., N)
//   dx = dy W,   dW = dy^T x and db = sum of dy, both over all rows (every axis but the last)
// Multiplies in matmul_precision(). Throws Error if the inner extents or the types differ.
inline Variable linear(const Variable& x, const Variable& weight, const Variable& bias = Variable()) {
  const Precision precision = matmul_precision();
  return record("linear",
                linear(x.value(), weight.value(), bias.defined() ? bias.value() : Tensor(), Activation::none,
                       nullptr, precision),
                {x, weight, bias}, save(input(0), input(1)), [precision](const Saved& s, const Variable& dy) {
                  const ScopedMatmulPrecision scope(precision);
                  return Grads{
                      s.needs(0) ? matmul(dy, s.input(1)) : Variable(),
                      s.needs(1) ? matmul(transpose(detail::as_rows(dy), 0, 1), detail::as_rows(s.input(0)))
                                 : Variable(),
                      s.needs(2) ? dy : Variable()};  // the engine sums the rows, as for any broadcast
                });
}

}  // namespace minigpt
