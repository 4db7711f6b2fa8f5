#include "tensor/cpu.h"

#include <cstdint>
#include <cstring>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace minigpt {

namespace {

#if defined(__x86_64__)

struct Registers {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
};

// All zero when the CPU does not know the leaf.
Registers cpuid(unsigned leaf, unsigned subleaf = 0) {
  Registers r;
  if (!__get_cpuid_count(leaf, subleaf, &r.eax, &r.ebx, &r.ecx, &r.edx)) return {};
  return r;
}

bool bit(unsigned word, int position) { return (word >> position) & 1; }

// The register states that the operating system saves and restores. Illegal unless OSXSAVE is set.
std::uint64_t saved_states() {
  std::uint32_t low = 0, high = 0;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (std::uint64_t(high) << 32) | low;
}

// The name comes in three pieces of 16 characters, padded with spaces or zeros.
std::string brand() {
  std::string name;
  for (unsigned leaf = 0x80000002; leaf <= 0x80000004; ++leaf) {
    const Registers r = cpuid(leaf);
    const unsigned words[4] = {r.eax, r.ebx, r.ecx, r.edx};
    char piece[17] = {};
    std::memcpy(piece, words, 16);
    name += piece;
  }
  const std::size_t first = name.find_first_not_of(' '), last = name.find_last_not_of(' ');
  return first == std::string::npos ? "unknown" : name.substr(first, last - first + 1);
}

CpuFeatures detect() {
  constexpr std::uint64_t kYmm = 0x06;         // xmm and upper halves of ymm
  constexpr std::uint64_t kZmm = kYmm | 0xe0;  // mask registers, upper halves of zmm0-15, zmm16-31
  CpuFeatures f;
  f.brand = brand();
  const Registers leaf1 = cpuid(1), leaf7 = cpuid(7);
  const Registers leaf7_1 = leaf7.eax >= 1 ? cpuid(7, 1) : Registers{};  // eax: the highest subleaf
  const bool osxsave = bit(leaf1.ecx, 27);
  const std::uint64_t states = osxsave ? saved_states() : 0;
  const bool avx = bit(leaf1.ecx, 28), fma = bit(leaf1.ecx, 12), avx2 = bit(leaf7.ebx, 5);
  f.avx2_fma = avx && fma && avx2 && (states & kYmm) == kYmm;
  f.avx512f = f.avx2_fma && bit(leaf7.ebx, 16) && (states & kZmm) == kZmm;
  f.avx512_bf16 = f.avx512f && bit(leaf7_1.eax, 5);
  return f;
}

#else

CpuFeatures detect() {
  CpuFeatures f;
  f.brand = "unknown";
#if defined(__aarch64__)
  f.neon = true;  // the ABI passes floating point numbers in its registers
#endif
  return f;
}

#endif

}  // namespace

const CpuFeatures& cpu_features() {
  static const CpuFeatures features = detect();
  return features;
}

}  // namespace minigpt
