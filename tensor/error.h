#pragma once
// Errors of the whole library.
//
// Every message names the operation, the rule that was broken and both values:
//   [matmul] inner dimensions differ: (2, 3) x (4, 5): 3 != 4
// Checks stay on in release builds; `assert` is never used on input.
//
// What a message quotes may come from a damaged file. Every message is nevertheless one line of valid UTF-8, without
// control characters and of bounded length, so that it can be printed, logged and put into JSON as it is.

#include <fmt/core.h>

#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "tensor/simd/no_fast_math.h"

namespace minigpt {

// Text as one printable line: control characters, line separators and marks that change the direction of writing as
// \n, \r, \t or \u{2028}, bytes that are not UTF-8 as \xFF, and the middle of more than 4000 bytes left out.
std::string one_line(std::string_view text);

// Something that was handed in is not acceptable: an argument, a shape, a file. The command exits with 2.
class Error : public std::runtime_error {
 public:
  // Keeps one_line(text).
  explicit Error(std::string_view text) : std::runtime_error(one_line(text)) {}

 protected:
  // For a report of several lines that quotes nothing from outside.
  struct Lines {};
  Error(Lines, const std::string& text) : std::runtime_error(text) {}
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
