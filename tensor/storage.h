#pragma once
// Memory behind tensors: reference-counted, 64-byte aligned, recycled.
//
// Training repeats the same allocations every step, so a freed block goes to a list of its size class and the
// next request of that size takes it from there: in steady state a step calls the system allocator zero
// times. Reference counts are not atomic: a tensor (and everything that shares its storage) belongs to one
// thread at a time. Kernels split work over threads below this level, on raw pointers.

#include <cstddef>
#include <cstdint>
#include <utility>

namespace minigpt {

// One shared block of bytes with a version counter: every in-place write raises the version, so that autograd
// can tell when a value it saved has changed.
class Storage {
 public:
  Storage() = default;
  // A block of at least `bytes` bytes, contents undefined. Throws Error when there is no memory.
  explicit Storage(std::size_t bytes);
  Storage(const Storage& other) : block_(other.block_) {
    if (block_) ++block_->references;
  }
  Storage(Storage&& other) noexcept : block_(std::exchange(other.block_, nullptr)) {}
  Storage& operator=(Storage other) noexcept {
    std::swap(block_, other.block_);
    return *this;
  }
  ~Storage() {
    if (block_ && --block_->references == 0) release(block_);
  }

  explicit operator bool() const { return block_ != nullptr; }
  std::byte* data() const { return reinterpret_cast<std::byte*>(block_ + 1); }
  std::size_t bytes() const { return block_->bytes; }
  std::int64_t use_count() const { return block_ ? block_->references : 0; }
  std::uint64_t version() const { return block_->version; }
  void bump_version() const { ++block_->version; }
  friend bool operator==(const Storage& a, const Storage& b) { return a.block_ == b.block_; }

 private:
  struct alignas(64) Block {
    std::int64_t references;
    std::uint64_t version;
    std::size_t bytes;     // as asked for
    std::size_t capacity;  // of the size class
    Block* next;           // in the list of free blocks
    int size_class;
  };
  static void release(Block* block);
  friend struct StorageCache;

  Block* block_ = nullptr;
};

// Bytes in tensors now, and the most there ever were since the last reset, over all threads. Exact for what the
// calling thread allocated; every other thread may be up to 64 kB behind.
struct MemoryStats {
  std::int64_t live_bytes = 0;
  std::int64_t peak_bytes = 0;
  std::int64_t system_allocations = 0;  // blocks fetched from the system allocator so far
};
MemoryStats memory_stats();
void reset_peak_memory();

// Gives this thread's recycled blocks back to the system. Happens by itself when the system has no more memory.
void release_cached_memory();

}  // namespace minigpt
