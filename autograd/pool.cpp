#include <new>

#include "autograd/ref.h"

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

constexpr std::size_t kStep = 64;
constexpr std::size_t kClasses = 32;  // objects up to 2 kB

struct FreeBlock {
  FreeBlock* next;
};

struct Pool {
  FreeBlock* free[kClasses] = {};
  static inline thread_local bool alive = false;
  Pool() { alive = true; }
  ~Pool() {
    alive = false;
    for (FreeBlock* list : free)
      while (list) {
        FreeBlock* next = list->next;
        ::operator delete(list);
        list = next;
      }
  }
};

Pool& pool() {
  static thread_local Pool instance;
  return instance;
}

}  // namespace

void* pool_allocate(std::size_t bytes) {
  const std::size_t index = (bytes + kStep - 1) / kStep;
  if (index >= kClasses) return ::operator new(bytes);
  FreeBlock*& list = pool().free[index];
  if (!list) return ::operator new(index* kStep);
  FreeBlock* block = list;
  list = block->next;
  return block;
}

void pool_release(void* memory, std::size_t bytes) noexcept {
  const std::size_t index = (bytes + kStep - 1) / kStep;
  if (index >= kClasses || !kRecycle || !Pool::alive) {
    ::operator delete(memory);
    return;
  }
  FreeBlock*& list = pool().free[index];
  list = ::new (memory) FreeBlock{list};
}

}  // namespace minigpt
