#pragma once
// How fast this instruction set can multiply and add at all: the mark that matrix multiplication is held against.

#include <stdint.h>

namespace minigpt {

template <class T>
struct PeakKernels {
  // x = x + a b, `steps` times, in independent chains that never leave the registers. Returns their sum, so that the
  // compiler has to compute it.
  T (*multiply_add)(int64_t steps, T a, T b);
  // Floating-point operations of one step: 2 per lane and chain.
  int64_t operations;
};

}  // namespace minigpt
