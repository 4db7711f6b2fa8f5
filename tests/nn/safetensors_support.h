#pragma once
// What the tests of the safetensors reader share: files built by hand, byte by byte.

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "nn/safetensors.h"
#include "tests/messages.h"

namespace minigpt::test {

using Bytes = std::vector<std::byte>;

inline Bytes bytes_of(std::string_view text) {
  const auto view = std::as_bytes(std::span(text));
  return {view.begin(), view.end()};
}

// A file from its parts: the length (that of the header, if not given), the header, and zero bytes of data.
inline Bytes make_file(std::string_view header, std::size_t data_bytes, std::uint64_t length) {
  Bytes file;
  for (int i = 0; i < 8; ++i) file.push_back(static_cast<std::byte>((length >> (8 * i)) & 0xFF));
  const Bytes text = bytes_of(header);
  file.insert(file.end(), text.begin(), text.end());
  file.resize(file.size() + data_bytes);
  return file;
}
inline Bytes make_file(std::string_view header, std::size_t data_bytes) {
  return make_file(header, data_bytes, header.size());
}

inline SafetensorsFile parse(const Bytes& bytes) { return SafetensorsFile::parse(bytes, "m.safetensors"); }

// The message with which a file is refused; "" if it is accepted.
inline std::string refusal(const Bytes& bytes) {
  return message_of([&] { parse(bytes); });
}

// The elements of one tensor.
template <class T>
std::vector<T> values(const SafetensorsFile& file, std::string_view name) {
  const SafetensorsEntry* entry = file.find(name);
  REQUIRE(entry != nullptr);
  std::vector<T> out(static_cast<std::size_t>(entry->element_count()));
  file.copy<T>(*entry, out);
  return out;
}

}  // namespace minigpt::test
