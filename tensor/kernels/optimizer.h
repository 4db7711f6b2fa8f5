#pragma once
// The Adam update as one pass over a parameter. See tensor/optimizer_kernels.h for the formula.

#include <stdint.h>

namespace minigpt {

// The numbers of one step, rounded to the type of the parameter as PyTorch rounds them.
template <class T>
struct AdamConstants {
  T grad_scale;
  T shrink;                      // AdamW: 1 - lr * weight_decay, else 1
  T l2;                          // Adam: weight_decay, else 0
  T beta1, beta2, rest1, rest2;  // rest = 1 - beta
  T root_correction2;            // sqrt(1 - beta2^t)
  T eps;
  T step;  // -lr / (1 - beta1^t)
};

template <class T>
struct OptimizerKernels {
  // w, m, v: (n), updated; g: (n).
  void (*adam)(T* w, const T* g, T* m, T* v, int64_t n, const AdamConstants<T>& c);
};

}  // namespace minigpt
