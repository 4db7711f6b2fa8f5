#include "tools/figures/text_width.h"

#include <algorithm>

#include "models/utf8.h"

namespace minigpt::figures {
namespace {

struct Range {
  char32_t first, last;
};

bool in_any(char32_t c, const Range* begin, const Range* end) {
  return std::any_of(begin, end, [c](const Range& r) { return c >= r.first && c <= r.last; });
}

int width_of(char32_t c) {
  constexpr Range kNone[] = {{0x0300, 0x036F}, {0x200B, 0x200F}, {0x20D0, 0x20FF}, {0xFE00, 0xFE0F}};
  constexpr Range kWide[] = {
      {0x1100, 0x115F},    // Hangul
      {0x2E80, 0x303E},    // CJK radicals, punctuation
      {0x3041, 0xA4CF},    // kana, ideographs, Yi
      {0xAC00, 0xD7A3},    // Hangul syllables
      {0xF900, 0xFAFF},    // compatibility ideographs
      {0xFE30, 0xFE6F},    // compatibility forms
      {0xFF00, 0xFF60},    // full-width forms
      {0xFFE0, 0xFFE6},    // full-width signs
      {0x1F300, 0x1FAFF},  // emoji
      {0x20000, 0x3FFFD},  // more ideographs
  };
  if (in_any(c, std::begin(kNone), std::end(kNone))) return 0;
  return in_any(c, std::begin(kWide), std::end(kWide)) ? 2 : 1;
}

int width_of(std::u32string_view text) {
  int columns = 0;
  for (const char32_t c : text) columns += width_of(c);
  return columns;
}

// At most `columns` columns of the text.
std::u32string cut(std::u32string text, int columns) {
  if (width_of(text) <= columns) return text;
  while (!text.empty() && width_of(text) > columns - 1) text.pop_back();
  return columns > 0 ? text + U"…" : U"";
}

std::u32string decoded(std::string_view text) { return utf8_decode(text, "label").text; }

}  // namespace

int display_width(std::string_view text) { return width_of(decoded(text)); }

std::string fit_left(std::string_view text, int columns) {
  const std::u32string shown = cut(decoded(text), columns);
  return utf8_encode(shown) + std::string(static_cast<std::size_t>(columns - width_of(shown)), ' ');
}

std::string fit_right(std::string_view text, int columns) {
  const std::u32string shown = cut(decoded(text), columns);
  return std::string(static_cast<std::size_t>(columns - width_of(shown)), ' ') + utf8_encode(shown);
}

std::string visible_label(std::string_view token) {
  const std::u32string text = decoded(token);
  const auto first = text.find_first_not_of(U' ');
  const auto last = text.find_last_not_of(U' ');
  std::string label;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == U' ')
      label += first == text.npos || i < first || i > last ? "␣" : " ";
    else if (text[i] == U'\\')
      label += '\\';
    else
      label += escape(text[i]);
  }
  return label;
}

}  // namespace minigpt::figures
