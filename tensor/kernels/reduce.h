#pragma once
// Kernels that reduce a row, or the columns of a matrix. See kernel_set.h for how families work.
//
// The order of every sum is fixed by the length alone: lanes within a block of a row, blocks in rising order.
// Blocks are added up in double, so that a long float row is as accurate as a short one.

#include <stdint.h>

namespace minigpt {

template <class T>
struct ReduceKernels {
  // sum of x[i]; sum of (x[i] - center)^2; sum of x[i]^2, the last one in double throughout: squares of large
  // float gradients overflow float.
  double (*sum)(const T* x, int64_t n);
  double (*sum_squared_deviations)(const T* x, T center, int64_t n);
  double (*sum_of_squares)(const T* x, int64_t n);

  // Largest and smallest of n >= 1 elements; NaN if there is one.
  T (*max)(const T* x, int64_t n);
  T (*min)(const T* x, int64_t n);
  // First i with x[i] == value, or with x[i] NaN if value is NaN; n if there is none.
  int64_t (*find)(const T* x, T value, int64_t n);

  // out[j] = (sum of x[r * stride + j] over r < rows) / divisor for j < columns. A column's result does not
  // depend on its neighbours, so columns may be split at will.
  void (*sum_columns)(const T* x, int64_t rows, int64_t stride, double divisor, T* out, int64_t columns);

  // False if any element is NaN or infinite.
  bool (*all_finite)(const T* x, int64_t n);
};

}  // namespace minigpt
