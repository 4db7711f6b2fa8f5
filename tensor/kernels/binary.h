#pragma once
// Kernels over two operands: arithmetic, comparisons, choice, clamping. See kernel_set.h for how families
// work.
//
// Operands are rows of n elements. A step says how an operand moves: 1 reads element i, 0 reads its first
// element every time (a scalar, or an axis that is broadcast). Broadcasting of whole shapes is done above
// (tensor/broadcast.h). Every element is computed by the same instructions wherever it lies in a row, so
// cutting a row in two changes nothing.

#include <stdint.h>

namespace minigpt {

template <class T>
struct BinaryKernels {
  // out[i] = a[i * a_step] op b[i * b_step]; steps are 0 or 1. out may be a or b themselves.
  using Fn = void (*)(const T* a, int64_t a_step, const T* b, int64_t b_step, T* out, int64_t n);
  Fn add, sub, mul, div;
  Fn maximum, minimum;  // NaN if either operand is NaN

  // out[i] = a[i * a_step] < b[i * b_step], and so on. NaN compares as in C: only != is true.
  using CompareFn = void (*)(const T* a, int64_t a_step, const T* b, int64_t b_step, bool* out, int64_t n);
  CompareFn less, less_equal, equal, not_equal, greater, greater_equal;

  // y[i] += alpha * x[i], fused where the hardware can.
  void (*add_scaled)(T* y, const T* x, T alpha, int64_t n);

  // out[i] = c[i * c_step] ? a[i * a_step] : b[i * b_step].
  void (*where)(const bool* c, int64_t c_step, const T* a, int64_t a_step, const T* b, int64_t b_step, T* out,
                int64_t n);

  // out[i] = min(max(x[i], lo), hi); NaN stays NaN. lo and hi must not be NaN.
  void (*clamp)(const T* x, T lo, T hi, T* out, int64_t n);
};

}  // namespace minigpt
