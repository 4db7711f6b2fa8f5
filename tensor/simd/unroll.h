#pragma once
// Loops that are unrolled in the source.
//
// An array of Vec lives in registers only if the compiler sees every index as a constant before it decides
// where the array lives. GCC unrolls ordinary loops too late for that, and the array is written to the stack.

#include "tensor/simd/isa.h"

namespace minigpt::MINIGPT_ISA {

template <int I>
struct Index {
  static constexpr int kValue = I;
  constexpr operator int() const { return I; }
};

// f(0), f(1), ..., f(N - 1). The parameter of f is `auto`; it converts to int.
template <int N, class F>
[[gnu::always_inline]] inline void unroll(const F& f) {
#if defined(MINIGPT_ISA_scalar)
  // Here the array should stay in memory: the compiler then finds four neighbours that fit a vector of its
  // own.
  for (int i = 0; i < N; ++i) f(i);
#else
  if constexpr (N > 0) {
    unroll<N - 1>(f);
    f(Index<N - 1>{});
  }
#endif
}

}  // namespace minigpt::MINIGPT_ISA
