#pragma once
// Lines for standard error.

#include <fmt/format.h>

#include <cstdio>
#include <string>
#include <utility>

namespace minigpt::tools {

// Prints to standard error if it can be written. If not (closed, on a full disk), nothing of a result is lost, so the work goes
// on; fmt::print would throw.
template <class... Args>
void say(fmt::format_string<Args...> format, Args&&... args) {
  const std::string text = fmt::format(format, std::forward<Args>(args)...);
  std::fwrite(text.data(), 1, text.size(), stderr);
}

}  // namespace minigpt::tools
