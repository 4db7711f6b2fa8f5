#pragma once
// Softmax kernels on `rows` contiguous rows of n elements. See tensor/rows.h for the formulas.

#include <stdint.h>

namespace minigpt {

template <class T>
struct RowsKernels {
  // x -> y; they may be the same memory.
  using Forward = void (*)(const T* x, T* y, int64_t rows, int64_t n);
  // y, dy -> dx; dx may be the memory of either.
  using Backward = void (*)(const T* y, const T* dy, T* dx, int64_t rows, int64_t n);

  Forward softmax;
  Backward softmax_backward;
  Forward log_softmax;
  Backward log_softmax_backward;
};

}  // namespace minigpt
