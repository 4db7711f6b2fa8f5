#include "tensor/cpu.h"

#include <doctest/doctest.h>

using namespace minigpt;

TEST_CASE("wider instruction sets come only on top of narrower ones") {
  const CpuFeatures& f = cpu_features();
  CHECK((!f.avx512f || f.avx2_fma));
  CHECK((!f.avx512_bf16 || f.avx512f));
  CHECK(&cpu_features() == &f);  // asked once
  CHECK_FALSE(f.brand.empty());
}

#if defined(__x86_64__) && defined(__GNUC__)
TEST_CASE("detection agrees with the compiler's own") {
  __builtin_cpu_init();
  CHECK(cpu_features().avx2_fma == (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")));
  CHECK(cpu_features().avx512f == bool(__builtin_cpu_supports("avx512f")));
}
#endif
