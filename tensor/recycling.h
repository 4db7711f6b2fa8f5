#pragma once
// Whether freed memory is kept for the next request. Not under the address sanitizer, which must see every free.

#if defined(__SANITIZE_ADDRESS__)
#define MINIGPT_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define MINIGPT_ASAN 1
#endif
#endif

namespace minigpt {

#ifdef MINIGPT_ASAN
inline constexpr bool kRecycle = false;
#else
inline constexpr bool kRecycle = true;
#endif

}  // namespace minigpt
