#pragma once
// Normalisation kernels on `rows` contiguous rows of n elements. See tensor/norms.h for the formulas.

#include <stdint.h>

namespace minigpt {

template <class T>
struct NormsKernels {
  // x: (rows, n); weight, bias: (n) or null -> y: (rows, n), mean, rstd: (rows).
  void (*layer_norm)(const T* x, const T* weight, const T* bias, double eps, T* y, T* mean, T* rstd,
                     int64_t rows, int64_t n);
  // -> dx: (rows, n). Adds the rows' terms to dweight and dbias: (n); either may be null.
  void (*layer_norm_backward)(const T* x, const T* mean, const T* rstd, const T* weight, const T* dy, T* dx,
                              T* dweight, T* dbias, int64_t rows, int64_t n);
  // x: (rows, n); weight: (n) or null -> y: (rows, n), rrms: (rows).
  void (*rms_norm)(const T* x, const T* weight, double eps, T* y, T* rrms, int64_t rows, int64_t n);
  // -> dx: (rows, n). Adds the rows' terms to dweight: (n), which may be null.
  void (*rms_norm_backward)(const T* x, const T* rrms, const T* weight, const T* dy, T* dx, T* dweight,
                            int64_t rows, int64_t n);
};

}  // namespace minigpt
