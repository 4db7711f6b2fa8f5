#pragma once
// Which instruction set the kernels use.
//
// Chosen once, at the first use, from CPUID and XGETBV (the operating system must save the wide registers
// too); on AArch64 it is NEON. The environment variable MINIGPT_ISA=scalar|avx2|avx512|avx512_bf16|neon asks for a lower
// one; asking for one that the CPU lacks is an Error. Results are bit-identical between runs on one kernel
// set, and agree within rounding across sets.

#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "tensor/kernels/kernel_set.h"

namespace minigpt {

// The table in use.
const KernelSet& kernel_set();

// The part of it for one element type: kernels<float>().gemm.
template <class T>
const Kernels<T>& kernels() {
  if constexpr (std::is_same_v<T, float>)
    return kernel_set().f32;
  else
    return kernel_set().f64;
}

// The sets this CPU can run, slowest first; "scalar" is always there.
std::vector<std::string> available_kernel_sets();

// Switches the table, for tests and comparisons. Throws Error if the CPU cannot run it.
void use_kernel_set(std::string_view name);

}  // namespace minigpt
