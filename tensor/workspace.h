#pragma once
// Scratch memory of a thread.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

#include "tensor/recycling.h"

namespace minigpt::detail {

// Memory that one thread uses again and again, as a thread_local variable. It only grows, so the steady state allocates
// nothing; without recycling it is always just as large as asked for. get() may lose what was there before.
class Workspace {
 public:
  template <class T>
  T* get(std::int64_t count) {
    const std::size_t bytes = static_cast<std::size_t>(count) * sizeof(T);
    if (bytes > bytes_ || (!kRecycle && bytes != bytes_)) {
      memory_.reset();
      bytes_ = 0;
      memory_.reset(static_cast<std::byte*>(::operator new(bytes, kAlignment)));
      bytes_ = bytes;
    }
    return reinterpret_cast<T*>(memory_.get());
  }

 private:
  static constexpr std::align_val_t kAlignment{64};
  struct Free {
    void operator()(std::byte* p) const { ::operator delete(p, kAlignment); }
  };
  std::unique_ptr<std::byte, Free> memory_;
  std::size_t bytes_ = 0;
};

}  // namespace minigpt::detail
