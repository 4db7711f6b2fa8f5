#include "tensor/storage.h"

#include <atomic>
#include <bit>
#include <cstdlib>

#include "tensor/error.h"

#if defined(__SANITIZE_ADDRESS__)
#define MINIGPT_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define MINIGPT_ASAN 1
#endif
#endif

namespace minigpt {
namespace {

#ifdef MINIGPT_ASAN
constexpr bool kRecycle = false;  // the address sanitizer must see every free
#else
constexpr bool kRecycle = true;
#endif

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

void count(std::int64_t bytes) {
  const std::int64_t now = live_bytes.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  if (bytes < 0) return;
  std::int64_t peak = peak_bytes.load(std::memory_order_relaxed);
  while (now > peak && !peak_bytes.compare_exchange_weak(peak, now, std::memory_order_relaxed)) {
  }
}

}  // namespace

struct StorageCache {
  Storage::Block* free[kSizeClasses] = {};
  static inline thread_local bool alive = false;

  StorageCache() { alive = true; }
  ~StorageCache() {
    clear();
    alive = false;  // blocks released later in this thread go straight back to the system
  }
  void clear() {
    for (Storage::Block*& list : free)
      while (list) {
        Storage::Block* next = list->next;
        std::free(list);
        list = next;
      }
  }
};

static StorageCache& cache() {
  static thread_local StorageCache instance;
  return instance;
}

Storage::Storage(std::size_t bytes) {
  const int size_class = class_of(bytes);
  check(size_class < kSizeClasses, "storage", "cannot allocate {} bytes", bytes);
  StorageCache& recycled = cache();
  block_ = recycled.free[size_class];
  if (block_) {
    recycled.free[size_class] = block_->next;
  } else {
    // capacity_of is a multiple of 16; aligned_alloc wants a multiple of the alignment.
    const std::size_t total = (sizeof(Block) + capacity_of(size_class) + 63) / 64 * 64;
    block_ = static_cast<Block*>(std::aligned_alloc(64, total));
    check(block_ != nullptr, "storage", "out of memory: cannot allocate {} bytes", bytes);
    system_allocations.fetch_add(1, std::memory_order_relaxed);
    block_->capacity = capacity_of(size_class);
    block_->size_class = size_class;
    block_->version = 0;
  }
  block_->references = 1;
  block_->bytes = bytes;
  count(static_cast<std::int64_t>(block_->capacity));
}

void Storage::release(Block* block) {
  count(-static_cast<std::int64_t>(block->capacity));
  if (!kRecycle || !StorageCache::alive) {
    std::free(block);
    return;
  }
  StorageCache& recycled = cache();
  block->next = recycled.free[block->size_class];
  recycled.free[block->size_class] = block;
}

MemoryStats memory_stats() {
  return {live_bytes.load(std::memory_order_relaxed), peak_bytes.load(std::memory_order_relaxed),
          system_allocations.load(std::memory_order_relaxed)};
}

void reset_peak_memory() {
  peak_bytes.store(live_bytes.load(std::memory_order_relaxed), std::memory_order_relaxed);
}

void release_cached_memory() { cache().clear(); }

}  // namespace minigpt
