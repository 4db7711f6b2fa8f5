#pragma once
// Matrix products on tensors of any rank and any strides. The kernels are in tensor/gemm.h.

#include "tensor/gemm.h"
#include "tensor/tensor.h"

namespace minigpt {

// Matrix product with PyTorch's rules. float32 or float64.
//   (M, K) x (K, N) -> (M, N):  out[m][n] = sum over k of a[m][k] * b[k][n]
//   Leading axes are batches and broadcast: (B, 1, M, K) x (H, K, N) -> (B, H, M, N).
//   A 1-D a is a row that disappears from the result, a 1-D b a column; two of them give a scalar.
// Transposed and sliced operands are read in place, without a copy. float32 factors are rounded to bf16 first
// where `precision` says so. Throws Error if the inner extents or types differ.
Tensor matmul(const Tensor& a, const Tensor& b, Precision precision = Precision::full);

// y = f(x W^T + bias).  x: (..., K)  W: (N, K)  bias: (N) or undefined  ->  y: (..., N)
// With an activation f, `kept`, if not null, receives x W^T + bias, which the backward pass needs.
// Throws Error if the inner extents or types differ.
Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias,
              Activation activation = Activation::none, Tensor* kept = nullptr,
              Precision precision = Precision::full);

// dz = dy * f'(z), with the z that linear() kept. Shapes and types of z and dy agree.
Tensor activation_backward(Activation activation, const Tensor& z, const Tensor& dy);

// The matrix of a rank-2 tensor, as it lies in memory.
template <class T>
Matrix<T> as_matrix(const Tensor& x) {
  return {x.data<T>(), x.shape()[0], x.shape()[1], x.strides()[0], x.strides()[1]};
}

// The precision in which matmul and linear of autograd/ops multiply in this thread; full unless a scope says
// otherwise. A backward pass uses the precision of its forward pass.
Precision matmul_precision();
class ScopedMatmulPrecision {
 public:
  explicit ScopedMatmulPrecision(Precision precision);
  ~ScopedMatmulPrecision();
  ScopedMatmulPrecision(const ScopedMatmulPrecision&) = delete;
  ScopedMatmulPrecision& operator=(const ScopedMatmulPrecision&) = delete;

 private:
  Precision before_;
};

}  // namespace minigpt
