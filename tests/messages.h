#pragma once
// What tests ask of error messages.

#include <string>
#include <string_view>

#include "tensor/error.h"

namespace minigpt::test {

// The message with which an action is refused; "" if it is not.
inline std::string message_of(const auto& action) {
  try {
    action();
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

inline bool contains(const std::string& text, std::string_view part) { return text.find(part) != text.npos; }

}  // namespace minigpt::test
