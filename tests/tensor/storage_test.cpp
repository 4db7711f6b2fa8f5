#include "tensor/storage.h"

#include <doctest/doctest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tensor/recycling.h"
#include "tensor/workspace.h"
#include "tests/tensor/layouts.h"

using namespace minigpt;
using namespace minigpt::testing;

TEST_CASE("storage is shared by copies, and aligned for the widest vectors") {
  for (const std::size_t bytes : {0, 1, 63, 64, 65, 1000, 1 << 20}) {
    const Storage a(bytes);
    CHECK(a.bytes() == bytes);
    CHECK(reinterpret_cast<std::uintptr_t>(a.data()) % 64 == 0);
    CHECK(a.use_count() == 1);
    Storage b = a;
    CHECK(a == b);
    CHECK(a.use_count() == 2);
    const Storage c = std::move(b);
    CHECK(a.use_count() == 2);
    CHECK_FALSE(static_cast<bool>(b));
    CHECK(c.data() == a.data());
  }
  CHECK(Storage().use_count() == 0);
}

TEST_CASE("assignment gives up the old block, also to itself") {
  Storage a(8), b(8);
  const Storage watch_a = a, watch_b = b;
  a = b;
  CHECK(watch_a.use_count() == 1);
  CHECK(watch_b.use_count() == 3);
  Storage& same = a;
  a = same;
  CHECK(watch_b.use_count() == 3);
}

TEST_CASE("the version is seen through every copy") {
  const Storage a(8), b = a;
  const std::uint64_t before = a.version();
  b.bump_version();
  CHECK(a.version() == before + 1);
}

#if defined(MINIGPT_ASAN)
TEST_CASE("the address sanitizer sees the end of every block, and that a block was given back") {
  for (const std::size_t bytes : {0, 1, 7, 8, 63, 64, 65, 100, 1000, 1 << 20}) {
    CAPTURE(bytes);
    std::byte* memory = nullptr;
    {
      const Storage a(bytes);
      memory = a.data();
      CHECK(__asan_region_is_poisoned(memory, bytes) == nullptr);
      CHECK(__asan_address_is_poisoned(memory + bytes));
      const Storage shared = a;
    }
    CHECK(__asan_address_is_poisoned(memory));
    detail::Workspace work;
    const std::byte* large = work.get<std::byte>(static_cast<std::int64_t>(bytes) + 100);
    const std::byte* small = work.get<std::byte>(static_cast<std::int64_t>(bytes));
    CHECK(__asan_region_is_poisoned(const_cast<std::byte*>(small), bytes) == nullptr);
    // To the sanitizer, `operator new` of nothing is one byte.
    CHECK(__asan_address_is_poisoned(small + std::max<std::size_t>(bytes, 1)));
    CHECK(__asan_address_is_poisoned(large));
  }
}
#endif

#if !defined(MINIGPT_ASAN)  // under which every block goes back to the system
TEST_CASE("freed blocks are recycled: the second round asks the system for nothing") {
  const auto round = [] {
    std::vector<Storage> blocks;
    for (std::size_t bytes = 1; bytes < 100000; bytes = bytes * 5 / 4 + 1) blocks.emplace_back(bytes);
  };
  round();
  const std::int64_t before = memory_stats().system_allocations;
  round();
  CHECK(memory_stats().system_allocations == before);
  release_cached_memory();
  round();
  CHECK(memory_stats().system_allocations > before);
}
#endif

TEST_CASE("blocks of one size class do not overlap") {
  // 64 to 80 bytes: the classes in between must be as large as their largest member.
  for (std::size_t bytes = 60; bytes < 300; ++bytes) {
    const Storage a(bytes), b(bytes);
    for (std::size_t i = 0; i < bytes; ++i) a.data()[i] = std::byte{1};
    for (std::size_t i = 0; i < bytes; ++i) b.data()[i] = std::byte{2};
    bool intact = true;
    for (std::size_t i = 0; i < bytes; ++i) intact = intact && a.data()[i] == std::byte{1};
    CHECK(intact);
  }
}

TEST_CASE("memory statistics follow what is alive") {
  const std::int64_t before = memory_stats().live_bytes;
  reset_peak_memory();
  {
    const Storage a(1 << 20);
    CHECK(memory_stats().live_bytes >= before + (1 << 20));
    CHECK(memory_stats().live_bytes <= before + (1 << 20) * 5 / 4);
  }
  CHECK(memory_stats().live_bytes == before);
  CHECK(memory_stats().peak_bytes >= before + (1 << 20));
  reset_peak_memory();
  CHECK(memory_stats().peak_bytes == before);
}

TEST_CASE("a block may be freed by another thread than the one that made it") {
  const std::int64_t before = memory_stats().live_bytes;
  Storage a(1000);
  std::thread([moved = std::move(a)]() mutable { moved = Storage(); }).join();
  CHECK(memory_stats().live_bytes == before);
}

TEST_CASE("absurd sizes are refused without an allocation") {
  CHECK(error_of([] { Storage(std::size_t{1} << 62); }) ==
        "[storage] cannot allocate 4611686018427387904 bytes");
  // The first size that no size class holds.
  CHECK(error_of([] { Storage((std::size_t{7} << 51) + 1); }) ==
        "[storage] cannot allocate 15762598695796737 bytes");
}

TEST_CASE("memory that the machine does not have is a failure of the run, not of what was asked") {
  // As much as a process can address, which no setting of the system grants.
  CHECK_THROWS_WITH_AS(Storage(std::size_t{1} << 47),
                       "[storage] out of memory: cannot allocate 140737488355328 bytes", RunError);
}

// Bytes of address space that this process has.
std::uint64_t address_space() {
  std::uint64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

TEST_CASE("blocks that wait for their next use are given back before memory is said to be out") {
  release_cached_memory();
  constexpr std::size_t kLarge = 200 << 20, kLarger = 300 << 20;
  // A sanitizer needs an address space of its own without limits.
  if (address_space() > std::uint64_t{1} << 40) return;
  rlimit before;
  REQUIRE(getrlimit(RLIMIT_AS, &before) == 0);
  const rlimit room_for_one{address_space() + (400 << 20), before.rlim_max};
  REQUIRE(setrlimit(RLIMIT_AS, &room_for_one) == 0);
  { const Storage waits_afterwards(kLarge); }
  std::string error;
  try {
    const Storage larger(kLarger);
  } catch (const RunError& e) {
    error = e.what();
  }
  setrlimit(RLIMIT_AS, &before);
  CHECK(error == "");
  release_cached_memory();
}
