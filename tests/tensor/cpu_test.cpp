#include "tensor/cpu.h"

#include <doctest/doctest.h>

#include "tensor/dispatch.h"

using namespace minigpt;

TEST_CASE("wider instruction sets come only on top of narrower ones") {
  const CpuFeatures& f = cpu_features();
  CHECK((!f.avx512f || f.avx2_fma));
  CHECK((!f.avx512_bf16 || f.avx512f));
  CHECK(&cpu_features() == &f);  // asked once
  CHECK_FALSE(f.brand.empty());
}

TEST_CASE("every AArch64 processor has NEON, and no other") {
#if defined(__aarch64__)
  CHECK(cpu_features().neon);
  CHECK(available_kernel_sets() == std::vector<std::string>{"scalar", "neon"});
#else
  CHECK_FALSE(cpu_features().neon);
#endif
}

#if defined(__x86_64__) && defined(__GNUC__)
TEST_CASE("detection agrees with the compiler's own") {
  __builtin_cpu_init();
  CHECK(cpu_features().avx2_fma == (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")));
  CHECK(cpu_features().avx512f == bool(__builtin_cpu_supports("avx512f")));
}
#endif
