#pragma once
// Small building blocks of the graph: counted references, recycled objects, short lists.
//
// A graph records one node per operation and drops it again every step, so nodes must cost tens of
// nanoseconds: counts are plain integers (a graph belongs to one thread) and freed nodes are kept on a list
// for the next step.

#include <cstddef>
#include <cstdint>
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

// Memory for small objects, recycled per thread by size. Falls back to operator new for large ones.
void* pool_allocate(std::size_t bytes);
void pool_release(void* memory, std::size_t bytes) noexcept;

// Base class that sends new and delete of the derived class to the pool.
struct Pooled {
  static void* operator new(std::size_t bytes) { return pool_allocate(bytes); }
  static void operator delete(void* memory, std::size_t bytes) { pool_release(memory, bytes); }
};

}  // namespace minigpt
