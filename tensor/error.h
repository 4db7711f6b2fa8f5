#pragma once
// Errors of the whole library.
//
// Every message names the operation, the rule that was broken and both values:
//   [matmul] inner dimensions differ: (2, 3) x (4, 5): 3 != 4
// Checks stay on in release builds; `assert` is never used on input.

#include <fmt/core.h>

#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "tensor/simd/no_fast_math.h"

namespace minigpt {

// Something that was handed in is not acceptable: an argument, a shape, a file. The command exits with 2.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// A run that was set up correctly went wrong: a loss that is not finite, a full disk. The command exits
// with 1.
class RunError : public Error {
 public:
  using Error::Error;
};

// Throws Error("[op] message").
template <class... Args>
[[noreturn, gnu::cold, gnu::noinline]] void fail(std::string_view op, fmt::format_string<Args...> format,
                                                 Args&&... args) {
  throw Error(fmt::format("[{}] {}", op, fmt::format(format, std::forward<Args>(args)...)));
}

// Throws Error("[op] message") unless `ok`. The text is only formatted when the check fails.
template <class... Args>
void check(bool ok, std::string_view op, fmt::format_string<Args...> format, Args&&... args) {
  if (!ok) [[unlikely]]
    fail(op, format, std::forward<Args>(args)...);
}

// The same for a name that is not a literal: its length is only counted when the check fails.
template <class... Args>
void check(bool ok, const char* op, fmt::format_string<Args...> format, Args&&... args) {
  if (!ok) [[unlikely]]
    fail(op, format, std::forward<Args>(args)...);
}

}  // namespace minigpt
