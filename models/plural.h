#pragma once
// Numbers of things in messages.

#include <fmt/core.h>

#include <string>
#include <string_view>

namespace minigpt {

// "1 character", "2 characters", "0 characters".
template <class Integer>
std::string count_of(Integer n, std::string_view what) {
  return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s");
}

}  // namespace minigpt
