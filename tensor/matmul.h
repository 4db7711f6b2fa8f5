#pragma once
// Matrix products on tensors of any rank and any strides. The kernels are in tensor/gemm.h.

#include "tensor/tensor.h"

namespace minigpt {

// Matrix product with PyTorch's rules. float32 or float64.
//   (M, K) x (K, N) -> (M, N):  out[m][n] = sum over k of a[m][k] * b[k][n]
//   Leading axes are batches and broadcast: (B, 1, M, K) x (H, K, N) -> (B, H, M, N).
//   A 1-D a is a row that disappears from the result, a 1-D b a column; two of them give a scalar.
// Transposed and sliced operands are read in place, without a copy. Throws Error if the inner extents or
// types differ.
Tensor matmul(const Tensor& a, const Tensor& b);

// y = x W^T + bias.  x: (..., K)  W: (N, K)  bias: (N) or undefined  ->  y: (..., N)
Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias);

}  // namespace minigpt
