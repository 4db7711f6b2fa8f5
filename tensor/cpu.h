#pragma once
// What this processor, under this operating system, can execute.

#include <string>

namespace minigpt {

// A set is usable when CPUID reports the instructions AND the system saves the wide registers on a task
// switch (the bits of XCR0, read by XGETBV); a CPU may have AVX-512 under a kernel or a hypervisor that does
// not.
struct CpuFeatures {
  bool avx2_fma = false;     // AVX2 and FMA3
  bool avx512f = false;      // AVX-512 Foundation, on top of avx2_fma
  bool avx512_bf16 = false;  // bfloat16 dot products, on top of avx512f
  bool neon = false;         // Advanced SIMD; part of every AArch64 processor
  std::string brand;         // "AMD EPYC 7763 64-Core Processor"; "unknown" where CPUID does not say
};

// Asked once, at the first call. What belongs to another architecture is false.
// Source: Intel 64 and IA-32 Software Developer's Manual, volume 2 (CPUID) and volume 1, section 14.3.
const CpuFeatures& cpu_features();

}  // namespace minigpt
