#pragma once
// Small building blocks of the graph: counted references, recycled objects, short lists.
//
// A graph records one node per operation and drops it again every step, so nodes must cost tens of
// nanoseconds: counts are plain integers (a graph belongs to one thread) and freed nodes are kept on a list
// for the next step.

#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

namespace minigpt {

// Counted reference to a T that has `std::int64_t references` and `static void destroy(T*)`.
template <class T>
class Ref {
 public:
  Ref() = default;
  explicit Ref(T* object) : object_(object) {
    if (object_) ++object_->references;
  }
  Ref(const Ref& other) : Ref(other.object_) {}
  Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Ref& operator=(Ref other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Ref() {
    if (object_ && --object_->references == 0) T::destroy(object_);
  }

  T* get() const { return object_; }
  T* operator->() const { return object_; }
  T& operator*() const { return *object_; }
  explicit operator bool() const { return object_ != nullptr; }
  friend bool operator==(const Ref& a, const Ref& b) { return a.object_ == b.object_; }

 private:
  T* object_ = nullptr;
};

namespace detail {

// The free blocks of one thread, by size in steps of 64 bytes. Without constructor or destructor, so that
// reaching it costs no guard; autograd/pool.cpp empties it when the thread ends.
struct Pool {
  static constexpr std::size_t kStep = 64;
  static constexpr std::size_t kClasses = 32;  // objects up to 2 kB
  struct FreeBlock {
    FreeBlock* next;
  };
  FreeBlock* free[kClasses];
  bool open;  // takes blocks back; set by the first allocation in this thread
};
extern constinit thread_local Pool pool;

void* allocate_block(std::size_t bytes);
void release_block(void* memory) noexcept;

}  // namespace detail

// Memory for small objects, recycled per thread by size. Falls back to operator new for large ones.
inline void* pool_allocate(std::size_t bytes) {
  using detail::Pool;
  const std::size_t index = (bytes + Pool::kStep - 1) / Pool::kStep;
  if (index >= Pool::kClasses) return detail::allocate_block(bytes);
  Pool::FreeBlock* block = detail::pool.free[index];
  if (!block) [[unlikely]]
    return detail::allocate_block(index * Pool::kStep);
  detail::pool.free[index] = block->next;
  return block;
}

inline void pool_release(void* memory, std::size_t bytes) noexcept {
  using detail::Pool;
  const std::size_t index = (bytes + Pool::kStep - 1) / Pool::kStep;
  if (index >= Pool::kClasses || !detail::pool.open) [[unlikely]]
    return detail::release_block(memory);
  detail::pool.free[index] = ::new (memory) Pool::FreeBlock{detail::pool.free[index]};
}

// Base class that sends new and delete of the derived class to the pool.
struct Pooled {
  static void* operator new(std::size_t bytes) { return pool_allocate(bytes); }
  static void operator delete(void* memory, std::size_t bytes) { pool_release(memory, bytes); }
};

}  // namespace minigpt
