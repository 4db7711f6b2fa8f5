#pragma once
// A growing list whose first N elements live inside the object: graph nodes seldom have more than a few
// inputs. More go to recycled memory (autograd/ref.h).

#include <memory>
#include <new>
#include <utility>

#include "autograd/ref.h"

namespace minigpt {

template <class T, int N>
class InlineList {
 public:
  InlineList() = default;
  InlineList(InlineList&& other) noexcept { take(other); }
  InlineList& operator=(InlineList&& other) noexcept {
    if (this != &other) {
      drop();
      take(other);
    }
    return *this;
  }
  InlineList(const InlineList&) = delete;
  InlineList& operator=(const InlineList&) = delete;
  ~InlineList() { drop(); }

  int size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T* begin() { return first_; }
  T* end() { return first_ + size_; }
  const T* begin() const { return first_; }
  const T* end() const { return first_ + size_; }
  T& operator[](int i) { return first_[i]; }
  const T& operator[](int i) const { return first_[i]; }

  // Appends T{} and returns it.
  T& add() {
    if (size_ == capacity_) [[unlikely]]
      grow();
    return *::new (static_cast<void*>(first_ + size_++)) T;
  }
  void push_back(T value) {
    if (size_ == capacity_) [[unlikely]]
      grow();
    ::new (static_cast<void*>(first_ + size_++)) T(std::move(value));
  }

  void clear() {
    std::destroy_n(first_, size_);
    size_ = 0;
  }

 private:
  T* inside() { return reinterpret_cast<T*>(bytes_); }
  bool outgrown() { return first_ != inside(); }

  void drop() {
    clear();
    if (outgrown()) [[unlikely]]
      pool_release(first_, sizeof(T) * static_cast<std::size_t>(capacity_));
  }

  void grow() {
    const int more = 2 * capacity_ + 2;
    T* place = static_cast<T*>(pool_allocate(sizeof(T) * static_cast<std::size_t>(more)));
    std::uninitialized_move_n(first_, size_, place);
    const int kept = size_;
    drop();
    first_ = place;
    size_ = kept;
    capacity_ = more;
  }

  // Takes the elements of another list, which is empty afterwards; this one holds none.
  void take(InlineList& other) {
    first_ = inside();
    capacity_ = N;
    if (other.outgrown()) {
      first_ = std::exchange(other.first_, other.inside());
      capacity_ = std::exchange(other.capacity_, N);
    } else {
      std::uninitialized_move_n(other.first_, other.size_, first_);
      std::destroy_n(other.first_, other.size_);
    }
    size_ = std::exchange(other.size_, 0);
  }

  alignas(T) unsigned char bytes_[sizeof(T) * static_cast<std::size_t>(N)];
  T* first_ = inside();
  int size_ = 0;
  int capacity_ = N;
};

}  // namespace minigpt
