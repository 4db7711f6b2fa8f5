#pragma once
// Matrix multiplication of float or double matrices with any strides.

#include <cstdint>

#include "tensor/kernels/gemm.h"

namespace minigpt {

// A view of rows x cols numbers; element (i, j) is data[i * row_stride + j * col_stride]. A transpose is
// another view of the same memory, which is how one routine serves A B, A B^T, A^T B and A^T B^T.
template <class T>
struct Matrix {
  const T* data;
  std::int64_t rows, cols;
  std::int64_t row_stride, col_stride;

  Matrix transposed() const { return {data, cols, rows, col_stride, row_stride}; }
};

// full: in the type of the matrices. bf16: float factors are rounded to bfloat16 (8 significant bits) first and
// their products summed in float, which is twice as fast on CPUs with AVX512-BF16. double is never rounded.
enum class Precision : std::uint8_t { full, bf16 };

// What a product does besides multiplying.
template <class T>
struct GemmOptions {
  bool accumulate = false;                   // C += A B in place of C = A B
  const T* bias = nullptr;                   // (n), added to every row of A B; not together with accumulate
  Activation activation = Activation::none;  // C = f(A B + bias); not together with accumulate
  T* kept = nullptr;                         // with an activation: receives A B + bias, laid out like C
  Precision precision = Precision::full;
};

// C = A B, or C += A B if `accumulate`.
//
//   c[i * ldc + j] = sum over p of a(i, p) * b(p, j)       A: (m, k)   B: (k, n)   C: (m, n)
//
// The rows of C are contiguous. With k = 0, A B is 0. C must not overlap A or B. A non-finite factor is
// multiplied like any other: 0 * inf gives NaN. The order of each sum depends on the sizes, the strides and
// the kernel set, never on the number of threads. Throws Error if the inner dimensions differ.
template <class T>
void gemm(const Matrix<T>& a, const Matrix<T>& b, T* c, std::int64_t ldc, const GemmOptions<T>& options);
template <class T>
void gemm(const Matrix<T>& a, const Matrix<T>& b, T* c, std::int64_t ldc, bool accumulate = false) {
  GemmOptions<T> options;
  options.accumulate = accumulate;
  gemm<T>(a, b, c, ldc, options);
}

// The same product, bit for bit, on the calling thread alone: for small matrices inside a parallel region
// (one attention head). Memory for packing belongs to the thread and is kept, so repeated calls do not
// allocate.
template <class T>
void gemm_serial(const Matrix<T>& a, const Matrix<T>& b, T* c, std::int64_t ldc, bool accumulate = false);

// The definition, for reading and for tests: three loops, summed in order of rising p.
template <class T>
void gemm_naive(const Matrix<T>& a, const Matrix<T>& b, T* c, std::int64_t ldc, bool accumulate = false) {
  for (std::int64_t i = 0; i < a.rows; ++i) {
    for (std::int64_t j = 0; j < b.cols; ++j) {
      T sum = 0;
      for (std::int64_t p = 0; p < a.cols; ++p)
        sum += a.data[i * a.row_stride + p * a.col_stride] * b.data[p * b.row_stride + j * b.col_stride];
      c[i * ldc + j] = accumulate ? c[i * ldc + j] + sum : sum;
    }
  }
}

}  // namespace minigpt
