#include "tensor/dispatch.h"

#include <cstdlib>

#include "tensor/cpu.h"
#include "tensor/error.h"

namespace minigpt {

namespace scalar {
void fill(KernelSet&);
}
#if defined(__x86_64__)
namespace avx2 {
void fill(KernelSet&);
}
namespace avx512 {
void fill(KernelSet&);
}
namespace avx512_bf16 {
void bind_bf16(GemmKernels<float>&);
void bind_bf16(PeakKernels<float>&);
}  // namespace avx512_bf16
#elif defined(__aarch64__)
namespace neon {
void fill(KernelSet&);
}
#endif

namespace {

using Fill = void (*)(KernelSet&);

struct Candidate {
  const char* name;
  bool usable;
  Fill fill;
};

#if defined(__x86_64__)
// The bf16 instructions serve matrix products alone: everything else is the avx512 set.
void fill_avx512_bf16(KernelSet& set) {
  avx512::fill(set);
  set.name = "avx512_bf16";
  avx512_bf16::bind_bf16(set.gemm_bf16);
  avx512_bf16::bind_bf16(set.peak_bf16);
}
#endif

const std::vector<Candidate>& candidates() {
  static const std::vector<Candidate> list = {
    {"scalar", true, scalar::fill},
#if defined(__x86_64__)
    {"avx2", cpu_features().avx2_fma, avx2::fill},
    {"avx512", cpu_features().avx512f, avx512::fill},
    {"avx512_bf16", cpu_features().avx512_bf16, fill_avx512_bf16},
#elif defined(__aarch64__)
    {"neon", cpu_features().neon, neon::fill},
#endif
  };
  return list;
}

std::string names_of_available() {
  std::string names;
  for (const std::string& name : available_kernel_sets()) names += (names.empty() ? "" : ", ") + name;
  return names;
}

KernelSet make(std::string_view wanted) {
  for (const Candidate& c : candidates()) {
    if (wanted != c.name || !c.usable) continue;
    KernelSet set{};
    c.fill(set);
    return set;
  }
  fail("kernel set", "this CPU has no '{}'; it can use: {}", wanted, names_of_available());
}

constinit KernelSet table{};

// Fills the table for the first time. A function of its own, or every look at the table would pay for its locals.
[[gnu::noinline]] bool choose() {
  const char* wanted = std::getenv("MINIGPT_ISA");
  table =
      make(wanted && *wanted ? std::string_view(wanted) : std::string_view(available_kernel_sets().back()));
  return true;
}

KernelSet& active() {
  [[maybe_unused]] static const bool chosen = choose();
  return table;
}

}  // namespace

const KernelSet& kernel_set() { return active(); }

std::vector<std::string> available_kernel_sets() {
  std::vector<std::string> names;
  for (const Candidate& c : candidates())
    if (c.usable) names.emplace_back(c.name);
  return names;
}

void use_kernel_set(std::string_view name) { active() = make(name); }

}  // namespace minigpt
