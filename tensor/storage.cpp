#include "tensor/storage.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdlib>

#include "tensor/error.h"
#include "tensor/recycling.h"

namespace minigpt {
namespace {

std::atomic<std::int64_t> live_bytes{0};
std::atomic<std::int64_t> peak_bytes{0};
std::atomic<std::int64_t> system_allocations{0};

constexpr int kSizeClasses = 4 * 48;

// Four classes per power of two waste at most a quarter: 64, 80, 96, 112, 128, 160, ...
int class_of(std::size_t bytes) {
  if (bytes <= 64) return 0;
  const int log = std::bit_width(bytes - 1) - 1;  // 2^log < bytes <= 2^(log + 1)
  const std::size_t quarter = std::size_t{1} << (log - 2);
  const std::size_t steps = (bytes - (std::size_t{1} << log) + quarter - 1) / quarter;  // 1..4
  return (log - 6) * 4 + static_cast<int>(steps);
}

std::size_t capacity_of(int size_class) {
  const std::size_t base = std::size_t{64} << (size_class / 4);
  return base + base / 4 * static_cast<std::size_t>(size_class % 4);
}

// A thread adds up its small blocks before it tells the others: atomic counters are dearer than a small tensor.
// So the totals miss at most kReportBytes for every other thread.
constexpr std::int64_t kSmallBlock = 1 << 12, kReportBytes = 1 << 16;

}  // namespace

// The free blocks of one thread. Without constructor or destructor, so that reaching it costs no guard.
struct StorageCache {
  Storage::Block* free[kSizeClasses];
  bool open;                  // takes blocks back; set by the first allocation from the system
  std::int64_t pending;       // bytes taken minus given back since the last report
  std::int64_t pending_peak;  // the most that ever was

  void count(std::int64_t bytes) {
    pending += bytes;
    pending_peak = std::max(pending_peak, pending);
    // A thread that only gives back, or is ending, has nobody to report later.
    if (!open || std::abs(bytes) > kSmallBlock || std::abs(pending) > kReportBytes) report();
  }
  void report() {
    const std::int64_t before = live_bytes.fetch_add(pending, std::memory_order_relaxed);
    const std::int64_t most = before + pending_peak;
    std::int64_t peak = peak_bytes.load(std::memory_order_relaxed);
    while (most > peak && !peak_bytes.compare_exchange_weak(peak, most, std::memory_order_relaxed)) {
    }
    pending = pending_peak = 0;
  }
  void clear() {
    for (Storage::Block*& list : free)
      while (list) {
        Storage::Block* next = list->next;
        std::free(list);
        list = next;
      }
  }
  void open_until_thread_ends();
};

static constinit thread_local StorageCache cache{};

void StorageCache::open_until_thread_ends() {
  struct End {
    ~End() {
      cache.open = false;  // blocks released later in this thread go straight back to the system
      cache.clear();
      cache.report();
    }
  };
  static thread_local bool opened = false;
  if (opened) return;
  opened = true;
  static thread_local End end;
  cache.open = kRecycle;
}

Storage::Storage(std::size_t bytes) {
  const int size_class = class_of(bytes);
  check(size_class < kSizeClasses, "storage", "cannot allocate {} bytes", bytes);
  block_ = cache.free[size_class];
  if (block_) [[likely]] {
    cache.free[size_class] = block_->next;
  } else {
    cache.open_until_thread_ends();
    // aligned_alloc wants a multiple of the alignment.
    const std::size_t usable = kRecycle ? capacity_of(size_class) : bytes;
    const std::size_t total = (sizeof(Block) + usable + 63) / 64 * 64;
    block_ = static_cast<Block*>(std::aligned_alloc(64, total));
    if (!block_) {  // blocks of other sizes that wait here may be what is missing
      cache.clear();
      block_ = static_cast<Block*>(std::aligned_alloc(64, total));
    }
    if (!block_) throw RunError(fmt::format("[storage] out of memory: cannot allocate {} bytes", bytes));
    system_allocations.fetch_add(1, std::memory_order_relaxed);
    block_->capacity = capacity_of(size_class);
    block_->size_class = size_class;
    block_->version = 0;
    if (!kRecycle) forbid_access(data() + bytes, total - sizeof(Block) - bytes);
  }
  block_->references = 1;
  block_->bytes = bytes;
  cache.count(static_cast<std::int64_t>(block_->capacity));
}

void Storage::release(Block* block) {
  cache.count(-static_cast<std::int64_t>(block->capacity));
  if (!cache.open) [[unlikely]] {
    std::free(block);
    return;
  }
  block->next = cache.free[block->size_class];
  cache.free[block->size_class] = block;
}

MemoryStats memory_stats() {
  cache.report();
  return {live_bytes.load(std::memory_order_relaxed), peak_bytes.load(std::memory_order_relaxed),
          system_allocations.load(std::memory_order_relaxed)};
}

void reset_peak_memory() {
  cache.report();
  peak_bytes.store(live_bytes.load(std::memory_order_relaxed), std::memory_order_relaxed);
}

void release_cached_memory() { cache.clear(); }

}  // namespace minigpt
