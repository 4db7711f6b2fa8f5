#pragma once
// What must hold for whatever is thrown at a parser.

#include <stdexcept>
#include <string>
#include <string_view>

#include "models/utf8.h"
#include "tensor/error.h"
#include "tests/fuzz/targets.h"

namespace minigpt::test {

// A broken promise. It is no minigpt::Error, so nothing on the way takes it for bad input.
class Violation : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

inline void require(bool ok, const char* promise) {
  if (!ok) throw Violation(std::string("broken promise: ") + promise);
}

inline std::string_view text_of(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// A message is one line of valid UTF-8 without control characters, and not endless.
inline void require_message(std::string_view text) {
  require(!text.empty(), "a message says something");
  require(text.size() < 40000, "a message has a bounded length");
  std::u32string characters;
  try {
    characters = utf8_decode("." + std::string(text), "").text;
  } catch (const Error&) {
    require(false, "a message is valid UTF-8");
  }
  for (const char32_t c : characters) {
    const bool disturbs = c < 0x20 || (c >= 0x7F && c < 0xA0) || c == 0x2028 || c == 0x2029;
    if (disturbs)
      throw Violation("broken promise: a message is one line without control characters: " + escape(c));
  }
}

// Calls `parse`; false if it refused the input in the way that is allowed. Other exceptions pass.
template <class F>
bool accepted(F&& parse) {
  try {
    parse();
    return true;
  } catch (const Error& e) {
    require_message(e.what());
    return false;
  }
}

}  // namespace minigpt::test
