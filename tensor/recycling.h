#pragma once
// Whether freed memory is kept for the next request. Not under the address sanitizer, which must see every free, nor where
// MINIGPT_NO_RECYCLING is defined, for other tools that watch memory (tools/valgrind.sh).

#include <cstddef>

#if defined(__SANITIZE_ADDRESS__)
#define MINIGPT_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define MINIGPT_ASAN 1
#endif
#endif
#if defined(MINIGPT_ASAN)
#include <sanitizer/asan_interface.h>
#endif

namespace minigpt {

#if defined(MINIGPT_ASAN) || defined(MINIGPT_NO_RECYCLING)
inline constexpr bool kRecycle = false;
#else
inline constexpr bool kRecycle = true;
#endif

// Memory that was allocated only to round up a size: the address sanitizer reports whoever reads or writes it.
inline void forbid_access([[maybe_unused]] const void* memory, [[maybe_unused]] std::size_t bytes) {
#if defined(MINIGPT_ASAN)
  __asan_poison_memory_region(memory, bytes);
#endif
}

}  // namespace minigpt
