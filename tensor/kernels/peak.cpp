// Compiled once per instruction set; see peak.h.
#include "tensor/kernels/peak.h"

#include "tensor/simd/unroll.h"
#include "tensor/simd/vec.h"

namespace minigpt::MINIGPT_ISA {

namespace {

// A multiply-add takes 4 cycles and 2 can start in each, so 8 chains would just keep the units busy; 12 leave room
// for an uneven cycle and, with the two factors, fit the 16 registers of AVX2.
constexpr int kChains = 12;

template <class T>
T multiply_add(int64_t steps, T a, T b) {
  const Vec<T> factor(a), term(b);
  Vec<T> x[kChains];
  unroll<kChains>([&](auto i) { x[i] = Vec<T>(T(int(i))); });
  for (int64_t s = 0; s < steps; ++s) unroll<kChains>([&](auto i) { x[i] = fma(x[i], factor, term); });
  Vec<T> sum(0);
  unroll<kChains>([&](auto i) { sum += x[i]; });
  return reduce_sum(sum);
}

template <class T>
void bind_peak(PeakKernels<T>& k) {
  k.multiply_add = multiply_add<T>;
  k.operations = 2 * kChains * Vec<T>::kWidth;
}

}  // namespace

void bind(PeakKernels<float>& k) { bind_peak(k); }
void bind(PeakKernels<double>& k) { bind_peak(k); }

}  // namespace minigpt::MINIGPT_ISA
