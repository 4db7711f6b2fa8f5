#pragma once
// Arrays that touch a page nobody may read or write, so that one element too many is caught by the processor, also in
// instructions that the address sanitizer does not see (masked loads and stores).
//
// Every array has a region of its own with such a page on either side. It lies at the region's end (its last byte is
// the last one that may be touched) or at its beginning. A region is mapped twice: kernels read their inputs through a view
// that cannot be written. (Changing the rights of one view for every kernel took ten times as long.)

#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

namespace minigpt::testing {

// Where arrays lie in their regions.
enum class Edge { end, begin };

class GuardedMemory {
 public:
  explicit GuardedMemory(Edge edge) : edge_(edge) {}
  GuardedMemory(const GuardedMemory&) = delete;
  GuardedMemory& operator=(const GuardedMemory&) = delete;
  ~GuardedMemory() {
    for (const Region& region : regions_)
      for (std::byte* view : {region.writable, region.readable})
        ::munmap(view, static_cast<std::size_t>(span()));
  }

  // An array of `count` elements, element i being value(i), that must not be written.
  template <class T, class Value>
  const T* input(const char* name, std::int64_t count, Value value) {
    T* data = place<T>(name, count);
    for (std::int64_t i = 0; i < count; ++i) data[i] = static_cast<T>(value(i));
    Region& region = regions_[used_ - 1];
    region.view = region.readable;
    return reinterpret_cast<const T*>(region.readable + region.offset);
  }
  template <class T>
  const T* input(const char* name, std::int64_t count) {
    return input<T>(name, count, ordinary);
  }

  // An array that may be read and written, full of ordinary numbers.
  template <class T>
  T* output(const char* name, std::int64_t count) {
    T* data = place<T>(name, count);
    for (std::int64_t i = 0; i < count; ++i) data[i] = static_cast<T>(ordinary(i));
    return data;
  }

  // Runs kernel() and forgets the arrays. "", or what it touched beyond them: "reads or writes x[17] of 17".
  template <class Kernel>
  std::string fault_of(const Kernel& kernel) {
    struct sigaction mine = {}, segv, bus;
    mine.sa_sigaction = [](int, siginfo_t* info, void*) {
      fault_address() = info->si_addr;
      siglongjmp(back(), 1);
    };
    mine.sa_flags = SA_SIGINFO;
    ::sigaction(SIGSEGV, &mine, &segv);
    ::sigaction(SIGBUS, &mine, &bus);
    fault_address() = nullptr;
    if (sigsetjmp(back(), 1) == 0) kernel();  // kernels own nothing that a jump would lose
    ::sigaction(SIGSEGV, &segv, nullptr);
    ::sigaction(SIGBUS, &bus, nullptr);
    std::string fault = fault_address() ? describe(static_cast<const std::byte*>(fault_address())) : "";
    used_ = 0;
    return fault;
  }

  Edge edge() const { return edge_; }

 private:
  static constexpr std::int64_t kBytes = std::int64_t{1} << 19;
  struct Region {
    std::byte *writable, *readable;  // the same memory: guard page, kBytes, guard page
    const char* name = "";
    const std::byte* view = nullptr;               // the one that the kernel has
    std::int64_t offset = 0, count = 0, size = 0;  // of the array; offset in bytes from the view's beginning
  };

  // Small, not 0, of both signs: no kernel meets a special case that ends its loop early.
  static double ordinary(std::int64_t i) {
    return (i % 2 ? 0.5 : -0.25) + static_cast<double>(i % 7) * 0.125;
  }

  template <class T>
  T* place(const char* name, std::int64_t count) {
    const auto size = static_cast<std::int64_t>(sizeof(T));
    if (count * size > kBytes) throw std::length_error("a guarded array is too long");
    if (used_ == regions_.size()) regions_.push_back(make());
    Region& region = regions_[used_++];
    region.name = name;
    region.view = region.writable;
    region.offset = page() + (edge_ == Edge::end ? kBytes - count * size : 0);
    region.count = count;
    region.size = size;
    return reinterpret_cast<T*>(region.writable + region.offset);
  }

  static Region make() {
    const int memory = ::memfd_create("guarded", MFD_CLOEXEC);
    if (memory < 0 || ::ftruncate(memory, kBytes) != 0)
      throw std::runtime_error("no memory for a guarded array");
    const Region region{map(memory, PROT_READ | PROT_WRITE), map(memory, PROT_READ)};
    ::close(memory);
    return region;
  }
  // The memory, between two pages without any rights.
  static std::byte* map(int memory, int rights) {
    void* base =
        ::mmap(nullptr, static_cast<std::size_t>(span()), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base == MAP_FAILED) throw std::runtime_error("no room for a guarded array");
    std::byte* view = static_cast<std::byte*>(base);
    if (::mmap(view + page(), static_cast<std::size_t>(kBytes), rights, MAP_SHARED | MAP_FIXED, memory, 0) ==
        MAP_FAILED)
      throw std::runtime_error("a guarded array cannot be mapped");
    return view;
  }
  static std::int64_t span() { return page() + kBytes + page(); }
  static std::int64_t page() {
    static const std::int64_t bytes = ::sysconf(_SC_PAGESIZE);
    return bytes;
  }

  std::string describe(const std::byte* address) const {
    for (std::size_t i = 0; i < used_; ++i) {
      const Region& r = regions_[i];
      if (address < r.view || address >= r.view + span()) continue;
      const std::int64_t bytes = address - (r.view + r.offset);
      const std::int64_t index = bytes >= 0 ? bytes / r.size : (bytes - r.size + 1) / r.size;
      const bool inside = index >= 0 && index < r.count;
      return std::string(inside ? "writes the input " : "reads or writes ") + r.name + "[" +
             std::to_string(index) + "] of " + std::to_string(r.count);
    }
    return "touches memory far from every array";
  }

  static sigjmp_buf& back() {
    static sigjmp_buf buffer;
    return buffer;
  }
  static void*& fault_address() {
    static void* address = nullptr;
    return address;
  }

  Edge edge_;
  std::vector<Region> regions_;
  std::size_t used_ = 0;
};

}  // namespace minigpt::testing
