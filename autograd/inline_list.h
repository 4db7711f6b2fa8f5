#pragma once
// A growing list whose first N elements live inside the object: graph nodes seldom have more than a few
// inputs.

#include <memory>
#include <new>
#include <utility>
#include <vector>

namespace minigpt {

template <class T, int N>
class InlineList {
 public:
  InlineList() = default;
  InlineList(InlineList&& other) noexcept { take(other); }
  InlineList& operator=(InlineList&& other) noexcept {
    if (this != &other) {
      clear();
      take(other);
    }
    return *this;
  }
  InlineList(const InlineList&) = delete;
  InlineList& operator=(const InlineList&) = delete;
  ~InlineList() { clear(); }

  int size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T* begin() { return data(); }
  T* end() { return data() + size_; }
  const T* begin() const { return data(); }
  const T* end() const { return data() + size_; }
  T& operator[](int i) { return data()[i]; }
  const T& operator[](int i) const { return data()[i]; }

  void push_back(T value) {
    if (size_ < N && heap_.empty()) {
      ::new (static_cast<void*>(inline_data() + size_)) T(std::move(value));
    } else {
      if (heap_.empty()) spill();
      heap_.push_back(std::move(value));
    }
    ++size_;
  }

  void clear() {
    if (heap_.empty())
      std::destroy_n(inline_data(), size_);
    else
      heap_.clear();
    size_ = 0;
  }

 private:
  T* inline_data() { return std::launder(reinterpret_cast<T*>(bytes_)); }
  const T* inline_data() const { return std::launder(reinterpret_cast<const T*>(bytes_)); }
  T* data() { return heap_.empty() ? inline_data() : heap_.data(); }
  const T* data() const { return heap_.empty() ? inline_data() : heap_.data(); }

  void spill() {
    heap_.reserve(static_cast<std::size_t>(2 * N + 2));
    for (int i = 0; i < size_; ++i) heap_.push_back(std::move(inline_data()[i]));
    std::destroy_n(inline_data(), size_);
  }

  void take(InlineList& other) {
    heap_ = std::move(other.heap_);
    other.heap_.clear();
    if (heap_.empty()) {
      std::uninitialized_move_n(other.inline_data(), other.size_, inline_data());
      std::destroy_n(other.inline_data(), other.size_);
    }
    size_ = std::exchange(other.size_, 0);
  }

  alignas(T) unsigned char bytes_[sizeof(T) * static_cast<std::size_t>(N)];
  std::vector<T> heap_;
  int size_ = 0;
};

}  // namespace minigpt
