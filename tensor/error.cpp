#include "tensor/error.h"

#include <algorithm>
#include <cstddef>

namespace minigpt {
namespace {

constexpr std::size_t kLongest = 4000;

// The length of the well-formed UTF-8 sequence at the start of `text`, 0 if there is none; puts its code point into `c`.
// Source: the Unicode Standard, table 3-7.
std::size_t sequence(std::string_view text, char32_t& c) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned lead = byte(0);
  c = lead;
  if (lead < 0x80) return 1;
  if (lead < 0xC2 || lead > 0xF4) return 0;
  const std::size_t length = lead < 0xE0 ? 2 : (lead < 0xF0 ? 3 : 4);
  if (text.size() < length) return 0;
  c = lead & (0xFFu >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0u) != 0x80) return 0;
    c = (c << 6) | (byte(i) & 0x3Fu);
  }
  const bool overlong = c < (length == 3 ? 0x800u : (length == 4 ? 0x10000u : 0x80u));
  return overlong || c > 0x10FFFF || (c >= 0xD800 && c < 0xE000) ? 0 : length;
}

// Would it break the line, or change how the rest of it is shown?
bool disturbs(char32_t c) {
  return c < 0x20 || (c >= 0x7F && c < 0xA0) || c == 0x200E || c == 0x200F || (c >= 0x2028 && c <= 0x202E) ||
         (c >= 0x2066 && c <= 0x2069);
}

void append(std::string& line, std::string_view text) {
  while (!text.empty()) {
    char32_t c = 0;
    const std::size_t length = sequence(text, c);
    if (length == 0)
      line += fmt::format("\\x{:02X}", static_cast<unsigned char>(text[0]));
    else if (c == '\n' || c == '\r' || c == '\t')
      line += c == '\n' ? "\\n" : (c == '\r' ? "\\r" : "\\t");
    else if (disturbs(c))
      line += fmt::format("\\u{{{:04X}}}", static_cast<unsigned>(c));
    else
      line += text.substr(0, length);
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
}

bool is_plain(char c) { return c >= 0x20 && c < 0x7F; }
bool continues(char c) { return (static_cast<unsigned char>(c) & 0xC0u) == 0x80; }

}  // namespace

std::string one_line(std::string_view text) {
  if (text.size() <= kLongest && std::all_of(text.begin(), text.end(), is_plain)) return std::string(text);
  std::string line;
  if (text.size() <= kLongest) {
    append(line, text);
    return line;
  }
  // The start says what went wrong and the end what to do; neither may begin or end inside a character.
  std::size_t head = kLongest * 3 / 4, tail = text.size() - kLongest / 4;
  for (int i = 0; i < 3 && continues(text[head]); ++i) --head;
  for (int i = 0; i < 3 && continues(text[tail]); ++i) ++tail;
  append(line, text.substr(0, head));
  line += fmt::format(" [... {} bytes ...] ", tail - head);
  append(line, text.substr(tail));
  return line;
}

}  // namespace minigpt
