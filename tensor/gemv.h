#pragma once
// A few rows times a matrix: the products of generating text, where every weight is read to be used once per row.
//
// gemm.h packs its operands, so that what was read is used many times. With one row that only adds work: what counts
// here is the speed at which memory delivers the weights, which is why they may be bfloat16.

#include "tensor/tensor.h"

namespace minigpt {

// y = x W^T + b, or y += the same.
//   x: (B, K)   W: (N, K) of the same type, or bfloat16 with float32   b: (N), or undefined   ->   y: (B, N)
// All contiguous. Sums are formed in the type of x, in an order that depends on K alone: a row of y has the same bits
// alone and among others. Threads share out the rows of W. Throws Error if shapes or types do not fit.
void gemv(const Tensor& x, const Tensor& weight, const Tensor& bias, Tensor& y, bool accumulate = false);

}  // namespace minigpt
