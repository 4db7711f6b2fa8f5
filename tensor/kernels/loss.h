#pragma once
// Cross-entropy kernels on `rows` contiguous rows of n logits. See tensor/loss.h for the formulas.
//
// A row whose target is `ignore` is not looked at: its loss, statistics and gradient are 0. Other targets
// must lie in [0, n).

#include <stdint.h>

namespace minigpt {

template <class T>
struct LossKernels {
  // logits: (rows, n); targets: (rows) -> losses: (rows), stats: (rows, 2) = {maximum, log of the sum above
  // it}.
  void (*cross_entropy)(const T* logits, const int32_t* targets, int32_t ignore, T* losses, T* stats,
                        int64_t rows, int64_t n);
  // -> dlogits: (rows, n). Row i takes dlosses[i * step]; step 0 means one factor for all.
  void (*cross_entropy_backward)(const T* logits, const int32_t* targets, int32_t ignore, const T* stats,
                                 const T* dlosses, int64_t step, T* dlogits, int64_t rows, int64_t n);
};

}  // namespace minigpt
