#include "autograd/ref.h"
#include "tensor/recycling.h"

namespace minigpt {
namespace detail {

constinit thread_local Pool pool{};

namespace {

// Gives the blocks back when the thread ends; blocks released later go straight to the system.
struct PoolEnd {
  ~PoolEnd() {
    pool.open = false;
    for (Pool::FreeBlock*& list : pool.free)
      while (list) {
        Pool::FreeBlock* next = list->next;
        ::operator delete(list);
        list = next;
      }
  }
};

}  // namespace

void* allocate_block(std::size_t bytes) {
  static thread_local bool opened = false;
  if (!opened) {
    opened = true;
    static thread_local PoolEnd end;
    pool.open = kRecycle;
  }
  return ::operator new(bytes);
}

void release_block(void* memory) noexcept { ::operator delete(memory); }

}  // namespace detail
}  // namespace minigpt
