#pragma once
// The activation that follows a matrix product, applied to each block while it is in the cache, and its backward.

#include "tensor/kernels/gemm.h"
#include "tensor/simd/activation.h"

namespace minigpt::MINIGPT_ISA {

// visit(F{}) for the function behind an activation.
template <class Visit>
inline void visit_activation(Activation activation, const Visit& visit) {
  switch (activation) {
    case Activation::none:
      return;
    case Activation::relu:
      return visit(Relu{});
    case Activation::relu_squared:
      return visit(ReluSquared{});
    case Activation::silu:
      return visit(Silu{});
    case Activation::gelu_erf:
      return visit(GeluErf{});
    case Activation::gelu_tanh:
      return visit(GeluTanh{});
  }
}

// kept = C unless null, then C (m x n) = f(C).
template <class T>
void activate(Activation activation, int64_t m, int64_t n, T* c, T* kept, int64_t ldc) {
  visit_activation(activation, [&](auto f) {
    using V = Vec<T>;
    constexpr int64_t W = V::kWidth;
    for (int64_t i = 0; i < m; ++i) {
      T* row = c + i * ldc;
      T* keep = kept ? kept + i * ldc : nullptr;
      int64_t j = 0;
      for (; j + W <= n; j += W) {
        const V z = V::load(row + j);
        if (keep) z.store(keep + j);
        f.value(z).store(row + j);
      }
      if (j < n) {
        const V z = V::load_n(row + j, n - j);
        if (keep) z.store_n(keep + j, n - j);
        f.value(z).store_n(row + j, n - j);
      }
    }
  });
}

// y (n) = f(z) unless null, and dz = dy * f'(z).
template <class T>
void activate_backward(Activation activation, int64_t n, const T* z, const T* dy, T* y, T* dz) {
  visit_activation(activation, [&](auto f) {
    using V = Vec<T>;
    constexpr int64_t W = V::kWidth;
    int64_t i = 0;
    for (; i + W <= n; i += W) {
      const ValueSlope<T> both = f.both(V::load(z + i));
      if (y) both.value.store(y + i);
      (V::load(dy + i) * both.slope).store(dz + i);
    }
    if (i < n) {
      const ValueSlope<T> both = f.both(V::load_n(z + i, n - i));
      if (y) both.value.store_n(y + i, n - i);
      (V::load_n(dy + i, n - i) * both.slope).store_n(dz + i, n - i);
    }
  });
}

}  // namespace minigpt::MINIGPT_ISA
