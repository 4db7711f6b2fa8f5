#pragma once
// What softmax, cross-entropy and attention share: the shift and the sum of one row.
//
//   softmax(x)_j = exp(x_j - shift) / sum_k exp(x_k - shift),   shift = max x
//
// Without the shift exp overflows at 89 (float). The logarithm of the sum is kept beside the shift, not added
// to it: at x = 1e8 a float has no room for the digits of the logarithm.

#include <math.h>

#include "tensor/kernels/row_loops.h"
#include "tensor/simd/math.h"

namespace minigpt::MINIGPT_ISA {

// A row of nothing but -infinity is fully masked. Shifted by its maximum it would be -inf - -inf = NaN;
// shifted by 0 its exponentials and their sum are plain 0.
template <class T>
inline T softmax_shift(T row_maximum) {
  return row_maximum == -Float<T>::kInfinity ? T(0) : row_maximum;
}

// 1 / sum; the masked row, and no other, has sum 0 (the largest element of another gives exp(0) = 1).
template <class T>
inline T softmax_scale(double sum) {
  return sum == 0 ? T(0) : T(1 / sum);
}

template <class T>
struct SoftmaxStats {
  T shift;
  T log_sum;  // log(sum_k exp(x_k - shift)); 0 for a masked row, so that x - shift - log_sum stays -infinity
};

template <class T>
inline SoftmaxStats<T> softmax_stats(const T* x, int64_t n) {
  const T shift = softmax_shift(row_max<T>(n, [&](int64_t i, auto lanes) { return lanes.load(x + i); }));
  const double sum = row_sum<T>(n, [&](int64_t i, auto lanes, Vec<T>& total) {
    total += lanes.only(exp(lanes.load(x + i) - shift), T(0));
  });
  return {shift, sum == 0 ? T(0) : T(::log(sum))};
}

}  // namespace minigpt::MINIGPT_ISA
