#pragma once
// The feed-forward half of a transformer block as one operation: two matrix products with a function between.
//
// The hidden activations are four times as wide as the input, the largest tensors of a training step. Rows do
// not depend on each other, so they are computed a few hundred at a time: what one product writes is still in
// the cache when the next one reads it, and only z is kept for the backward pass. f(z) and f'(z) are computed
// again there, which costs less than storing and reading them.

#include "tensor/matmul.h"

namespace minigpt {

// y = f(z) W2^T + b2,  z = x W1^T + b1.
//   x: (..., C)   W1: (F, C)   b1: (F) or undefined   W2: (N, F)   b2: (N) or undefined   ->   y: (..., N)
// `kept`, if not null, receives z: (..., F). Throws Error where shapes or types differ.
Tensor mlp(const Tensor& x, const Tensor& w1, const Tensor& b1, const Tensor& w2, const Tensor& b2,
           Activation f, Tensor* kept, Precision precision = Precision::full);

struct MlpGradients {
  Tensor dx, dw1, db1, dw2, db2;
};

// With h = f(z) and dz = (dy W2) * f'(z):
//   dx = dz W1,   dW1 = dz^T x,   db1 = sum of dz,   dW2 = dy^T h,   db2 = sum of dy      (sums over all rows)
// db1 and db2 are made only if wanted.
MlpGradients mlp_backward(const Tensor& x, const Tensor& w1, const Tensor& w2, const Tensor& z,
                          const Tensor& dy, Activation f, bool want_db1, bool want_db2,
                          Precision precision = Precision::full);

}  // namespace minigpt
