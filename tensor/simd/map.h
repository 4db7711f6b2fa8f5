#pragma once
// Loops over arrays, one register at a time.
//
// The last few elements go through the same vector code with load_n and store_n, so an element's result never
// depends on its position or on the length of the array. Outputs may be the inputs themselves, but not
// overlap them shifted.

#include "tensor/simd/vec.h"

namespace minigpt::MINIGPT_ISA {

// y[i] = f(x[i])
template <class T, class F>
inline void map(int64_t n, const T* x, T* y, F f) {
  using V = Vec<T>;
  int64_t i = 0;
  for (; i + V::kWidth <= n; i += V::kWidth) f(V::load(x + i)).store(y + i);
  if (i < n) f(V::load_n(x + i, n - i)).store_n(y + i, n - i);
}

// y[i] = f(a[i], b[i])
template <class T, class F>
inline void map(int64_t n, const T* a, const T* b, T* y, F f) {
  using V = Vec<T>;
  int64_t i = 0;
  for (; i + V::kWidth <= n; i += V::kWidth) f(V::load(a + i), V::load(b + i)).store(y + i);
  if (i < n) f(V::load_n(a + i, n - i), V::load_n(b + i, n - i)).store_n(y + i, n - i);
}

}  // namespace minigpt::MINIGPT_ISA
