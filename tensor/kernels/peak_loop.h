#pragma once
// The loop behind PeakKernels, for both kinds of product.

#include "tensor/kernels/peak.h"
#include "tensor/simd/unroll.h"
#include "tensor/simd/vec.h"

namespace minigpt::MINIGPT_ISA {

// A multiply-add takes 4 cycles (a bf16 dot product 6) and 2 can start in each, so 8 (12) chains would just keep the
// units busy; 12 leave room for an uneven cycle and, with the two factors, fit the 16 registers of AVX2.
inline constexpr int kChains = 12;

template <class Product, class T>
T multiply_add(int64_t steps, T a, T b) {
  const Vec<T> factor(a), other(b);
  Vec<T> x[kChains];
  unroll<kChains>([&](auto i) { x[i] = Vec<T>(T(int(i))); });
  for (int64_t s = 0; s < steps; ++s)
    unroll<kChains>([&](auto i) { x[i] = Product::add(factor, other, x[i]); });
  Vec<T> sum(0);
  unroll<kChains>([&](auto i) { sum += x[i]; });
  return reduce_sum(sum);
}

// products: how many of them one lane forms at a time.
template <class Product, class T>
void bind_peak(PeakKernels<T>& k, int products) {
  k.multiply_add = multiply_add<Product, T>;
  k.operations = 2 * kChains * Vec<T>::kWidth * products;
}

}  // namespace minigpt::MINIGPT_ISA
