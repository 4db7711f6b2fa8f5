#pragma once
// A matrix times a few vectors: what generating text consists of. See tensor/gemv.h.

#include <stdint.h>

namespace minigpt {

// Y (rows, n) = X (rows, k) W^T + bias, or Y += the same.   W: (n, k), row-major without gaps
template <class T>
struct GemvBlock {
  int64_t rows, n, k;
  const T* x;     // row r begins at x + r * k
  const T* bias;  // (n), or null
  T* y;           // row r begins at y + r * y_step
  int64_t y_step;
  bool accumulate;
  bool far;  // W is so large that it comes from main memory
};

// Every y[r][j] is one sum over k, formed in the same order whatever rows and n are: a vector gets the same bits alone
// and among others, and W may be cut anywhere between two rows.
template <class T>
struct GemvKernels {
  void (*full)(const GemvBlock<T>& block, const T* w);
  // The same with the weights as bfloat16 bits, summed as T. Null for double.
  void (*bf16)(const GemvBlock<T>& block, const uint16_t* w);
};

}  // namespace minigpt
