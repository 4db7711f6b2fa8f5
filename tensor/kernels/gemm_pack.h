#pragma once
// Packing: copies of A and B in the order in which the micro-kernel reads them.
//
// What is read is a Source: `Plain` copies numbers as they are; kernels/gemm_bf16.cpp has two that round. A
// source turns kUnit steps of depth into one packed number (a float), and has
//   along(x, n)             W packed numbers from n <= W * kUnit values that are contiguous along the depth
//   across(x, step, d, n)   packed numbers of n <= W neighbours x[0..n-1] at one packed step; the next value
//                           along the depth is `step` away, and d <= kUnit of them exist
//   one(x, step, d)         one packed number

#include "tensor/simd/vec.h"

namespace minigpt::MINIGPT_ISA {

struct Plain {
  static constexpr int kUnit = 1;
  template <class T>
  static Vec<T> along(const T* x, int64_t n) {
    return n == Vec<T>::kWidth ? Vec<T>::load(x) : Vec<T>::load_n(x, n);
  }
  template <class T>
  static Vec<T> across(const T* x, int64_t, int64_t, int64_t n) {
    return n == Vec<T>::kWidth ? Vec<T>::load(x) : Vec<T>::load_n(x, n);
  }
  template <class T>
  static T one(const T* x, int64_t, int64_t) {
    return *x;
  }
};

inline int64_t at_most(int64_t n, int64_t limit) { return n < limit ? n : limit; }
inline int64_t packed_depth(int64_t depth, int64_t unit) { return (depth + unit - 1) / unit; }

// One panel of `width` values per step, `valid` of them real. The width need not be a multiple of the vector
// width W: the last store of a step then spills over the start of the next one, which is written afterwards.
// Only the very last step must not write past its end.

// Steps [first, last). The values of a step are contiguous in memory; `readable` of them exist, which may be more
// than the panel's `width`: whole registers are then loaded, and what is too much is overwritten or cut off.
template <class Source, class T>
void pack_steps(int64_t width, int64_t readable, int64_t first, int64_t last, int64_t depth, const T* x,
                int64_t depth_stride, T* out) {
  constexpr int64_t W = Vec<T>::kWidth, U = Source::kUnit;
  const int64_t steps = packed_depth(depth, U);
  const bool whole = readable >= (width + W - 1) / W * W;
  for (int64_t p = first; p < last; ++p) {
    const T* row = x + p * U * depth_stride;
    const int64_t deep = at_most(depth - p * U, U);
    T* target = out + p * width;
    if (whole && p + 1 < steps) {
      for (int64_t i = 0; i < width; i += W) Source::across(row + i, depth_stride, deep, W).store(target + i);
      continue;
    }
    for (int64_t i = 0; i < width; i += W) {
      const int64_t lanes = readable > i ? at_most(readable - i, W) : 0;
      const Vec<T> v = Source::across(row + i, depth_stride, deep, lanes);
      if (i + W <= width || p + 1 < steps)
        v.store(target + i);
      else
        v.store_n(target + i, width - i);
    }
  }
}

// The values along the depth are contiguous: W x W packed numbers at a time are transposed in registers. Groups
// of W values go from the last to the first, so that a spill comes before what belongs there.
template <class Source, class T>
void pack_transposed(int64_t width, int64_t valid, int64_t depth, const T* x, int64_t stride, T* out) {
  using V = Vec<T>;
  constexpr int64_t W = V::kWidth, U = Source::kUnit;
  const int64_t steps = packed_depth(depth, U);
  for (int64_t i = (width - 1) / W * W; i >= 0; i -= W) {
    const int64_t rows = valid > i ? at_most(valid - i, W) : 0;
    for (int64_t p = 0; p < steps; p += W) {
      const int64_t n = at_most(depth - p * U, W * U), count = at_most(steps - p, W);
      V t[W];
      if (rows == W && n == W * U) {
        for (int r = 0; r < W; ++r) t[r] = Source::along(x + (i + r) * stride + p * U, W * U);
      } else {
        for (int r = 0; r < W; ++r)
          t[r] = r < rows ? Source::along(x + (i + r) * stride + p * U, n) : V(T(0));
      }
      V::transpose(t);
      for (int r = 0; r < count; ++r) {
        T* target = out + (p + r) * width + i;
        if (i + W <= width || p + r + 1 < steps)
          t[r].store(target);
        else
          t[r].store_n(target, width - i);
      }
    }
  }
}

// See GemmKernels::pack.
template <class Source, class T>
void pack(int64_t width, int64_t count, int64_t depth, const T* x, int64_t stride, int64_t depth_stride,
          T* out) {
  constexpr int64_t U = Source::kUnit;
  const int64_t steps = packed_depth(depth, U), panel = width * steps;
  if (stride == 1) {
    // A few steps of all panels before the next few steps: memory is then read in long runs, and the pages
    // that are open at a time are few (each step may lie in a page of its own).
    constexpr int64_t kSteps = 8;
    for (int64_t p = 0; p < steps; p += kSteps)
      for (int64_t i = 0, j = 0; i < count; i += width, ++j)
        pack_steps<Source>(width, count - i, p, at_most(p + kSteps, steps), depth, x + i, depth_stride,
                           out + j * panel);
    return;
  }
  for (int64_t i = 0; i < count; i += width, x += width * stride, out += panel) {
    const int64_t valid = at_most(count - i, width);
    if (depth_stride == 1) {
      pack_transposed<Source>(width, valid, depth, x, stride, out);
    } else {
      for (int64_t p = 0; p < steps; ++p)
        for (int64_t r = 0; r < width; ++r)
          out[p * width + r] = r < valid ? Source::one(x + r * stride + p * U * depth_stride, depth_stride,
                                                       at_most(depth - p * U, U))
                                         : T(0);
    }
  }
}

}  // namespace minigpt::MINIGPT_ISA
