#pragma once
// Runs kernels on guarded memory, and keeps a record of which ones were run. See guard_pages_test.cpp.

#include <doctest/doctest.h>

#include <initializer_list>
#include <utility>

#include "tensor/dispatch.h"
#include "tests/tensor/kernels/guarded_memory.h"

namespace minigpt::testing {

class GuardPages {
 public:
  explicit GuardPages(Edge edge) : memory(edge) {}

  using Sizes = std::initializer_list<std::pair<const char*, std::int64_t>>;

  // Runs call() for the kernel behind `entry`, a member of kernel_set(), on arrays that were made from `memory` before.
  template <class Entry, class Call>
  void run(const Entry& entry, const char* name, Sizes sizes, const Call& call) {
    covered(entry);
    ++runs;
    const std::string fault = memory.fault_of(call);
    if (fault.empty()) return;
    std::string text = std::string(kernel_set().name) + " " + type + " " + name;
    for (const auto& size : sizes) text += std::string(" ") + size.first + "=" + std::to_string(size.second);
    faults.push_back(
        text + (memory.edge() == Edge::end ? ", arrays before a guard page: " : ", arrays behind one: ") +
        fault);
  }

  // Takes note of an entry of the table that was run, is no kernel, or touches no memory.
  template <class Entry>
  void covered(const Entry& entry) {
    static_assert(sizeof(Entry) <= kWord);
    const std::size_t word = static_cast<std::size_t>(reinterpret_cast<const char*>(&entry) -
                                                      reinterpret_cast<const char*>(&kernel_set())) /
                             kWord;
    REQUIRE(word < sizeof(KernelSet) / kWord);
    seen[word] = true;
  }

  static constexpr std::size_t kWord = sizeof(void*);
  GuardedMemory memory;
  const char* type = "float";
  std::vector<std::string> faults;
  std::vector<bool> seen = std::vector<bool>(sizeof(KernelSet) / kWord);  // words of the table
  std::int64_t runs = 0;
};

// Lengths around the vectors of every instruction set: at most 16 floats, and loops of up to eight of them.
inline std::vector<std::int64_t> guarded_lengths() {
  std::vector<std::int64_t> lengths;
  for (std::int64_t n = 0; n <= 2 * 16 + 1; ++n) lengths.push_back(n);
  for (const std::int64_t n : {47, 63, 65, 127, 129, 143, 1023, 1041}) lengths.push_back(n);
  return lengths;
}

// All kernels of the tables named like the file: guard_pages_rows.cpp, guard_pages_products.cpp.
template <class T>
void guard_rows(GuardPages& pages);
template <class T>
void guard_products(GuardPages& pages);
template <class T>
void guard_gemm(GuardPages& pages, const GemmKernels<T>& kernels);

}  // namespace minigpt::testing
