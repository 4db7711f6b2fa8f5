#include "models/utf8.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>

#include "tensor/error.h"

namespace minigpt {
namespace {

constexpr std::string_view kBom = "\xEF\xBB\xBF";

// The encoding whose byte-order mark opens `bytes`, or "". UTF-32 goes first: its little-endian mark begins
// with that of UTF-16.
std::string_view foreign_encoding(std::string_view bytes) {
  using namespace std::string_view_literals;
  if (bytes.starts_with("\xFF\xFE\0\0"sv)) return "UTF-32 (little-endian)";
  if (bytes.starts_with("\0\0\xFE\xFF"sv)) return "UTF-32 (big-endian)";
  if (bytes.starts_with("\xFF\xFE"sv)) return "UTF-16 (little-endian)";
  if (bytes.starts_with("\xFE\xFF"sv)) return "UTF-16 (big-endian)";
  return "";
}

[[noreturn]] void fail_at(std::string_view bytes, std::size_t at, std::size_t count, std::string_view source,
                          std::string_view reason) {
  std::string shown;
  for (std::size_t i = at; i < at + count; ++i) {
    shown += fmt::format("{}0x{:02X}", shown.empty() ? "" : " ", static_cast<unsigned char>(bytes[i]));
  }
  fail("text", "{}: invalid UTF-8 at byte {}: {} ({})", source, at, shown, reason);
}

// Decodes the sequence that starts at `at` and moves `at` past it.
char32_t decode_one(std::string_view bytes, std::size_t& at, std::string_view source) {
  const auto lead = static_cast<unsigned char>(bytes[at]);
  if (lead < 0x80) {
    ++at;
    return lead;
  }
  if (lead < 0xC0) fail_at(bytes, at, 1, source, "a continuation byte without its lead byte");
  if (lead >= 0xF8) fail_at(bytes, at, 1, source, "this byte never occurs in UTF-8");

  // The number of leading ones is the length; the bits below them open the value, each later byte adds six.
  const std::size_t length = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  auto value = static_cast<char32_t>(lead & (0xFF >> (length + 1)));
  for (std::size_t i = 1; i < length; ++i) {
    if (at + i == bytes.size()) fail_at(bytes, at, i, source, "the text ends inside a character");
    const auto next = static_cast<unsigned char>(bytes[at + i]);
    if ((next & 0xC0) != 0x80) fail_at(bytes, at, i, source, "a continuation byte is missing");
    value = (value << 6) | (next & 0x3F);
  }

  // Two spellings of one character would be two different texts with the same meaning: only the shortest is
  // legal.
  constexpr char32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  if (value < kSmallest[length]) fail_at(bytes, at, length, source, "an overlong form");
  if (value > 0x10FFFF) fail_at(bytes, at, length, source, "above U+10FFFF");
  if (!is_code_point(value)) fail_at(bytes, at, length, source, "a surrogate, legal only in UTF-16");
  at += length;
  return value;
}

// Characters that a reader could not see or point at, as sorted closed ranges. It is deliberately not the
// full Unicode table (that changes every year): a character missing here merely prints as itself.
struct Range {
  char32_t first, last;
};
constexpr Range kInvisible[] = {
    {0x0000, 0x001F},     // C0 controls
    {0x007F, 0x00A0},     // delete, C1 controls, no-break space
    {0x00AD, 0x00AD},     // soft hyphen
    {0x0300, 0x036F},     // combining accents
    {0x0483, 0x0489},     // combining Cyrillic
    {0x0591, 0x05BD},     // Hebrew points
    {0x0600, 0x0605},     // Arabic number signs
    {0x0610, 0x061C},     // Arabic marks
    {0x064B, 0x065F},     // Arabic vowel signs
    {0x115F, 0x1160},     // Hangul fillers
    {0x1680, 0x1680},     // Ogham space
    {0x17B4, 0x17B5},     // Khmer inherent vowels
    {0x180B, 0x180F},     // Mongolian selectors
    {0x1AB0, 0x1AFF},     // combining marks, extended
    {0x1DC0, 0x1DFF},     // combining marks, supplement
    {0x2000, 0x200F},     // spaces of all widths, zero-width characters, direction marks
    {0x2028, 0x202F},     // line and paragraph separators, direction overrides
    {0x205F, 0x206F},     // mathematical space, invisible operators
    {0x20D0, 0x20FF},     // combining marks for symbols
    {0x2800, 0x2800},     // blank Braille cell
    {0x3000, 0x3000},     // ideographic space
    {0x3099, 0x309A},     // combining kana marks
    {0x3164, 0x3164},     // Hangul filler
    {0xE000, 0xF8FF},     // private use
    {0xFDD0, 0xFDEF},     // noncharacters
    {0xFE00, 0xFE0F},     // variation selectors
    {0xFE20, 0xFE2F},     // combining half marks
    {0xFEFF, 0xFEFF},     // byte-order mark
    {0xFFA0, 0xFFA0},     // half-width Hangul filler
    {0xFFF0, 0xFFFB},     // interlinear annotation
    {0xFFFE, 0xFFFF},     // noncharacters
    {0x1F3FB, 0x1F3FF},   // skin tones: they merge with the emoji before them
    {0xE0000, 0x10FFFF},  // tags, more selectors, private use
};

bool is_invisible(char32_t c) {
  const auto* range = std::lower_bound(std::begin(kInvisible), std::end(kInvisible), c,
                                       [](const Range& r, char32_t value) { return r.last < value; });
  return range != std::end(kInvisible) && c >= range->first;
}

int hex_digit(char32_t c) {
  if (c >= U'0' && c <= U'9') return static_cast<int>(c - U'0');
  if (c >= U'A' && c <= U'F') return static_cast<int>(c - U'A') + 10;
  if (c >= U'a' && c <= U'f') return static_cast<int>(c - U'a') + 10;
  return -1;
}

}  // namespace

DecodedText utf8_decode(std::string_view bytes, std::string_view source) {
  const std::string_view encoding = foreign_encoding(bytes);
  check(encoding.empty(), "text", "{}: this is {} text, but UTF-8 is needed; save it as UTF-8 and try again",
        source, encoding);
  DecodedText result;
  result.had_bom = bytes.starts_with(kBom);
  result.text.reserve(bytes.size());  // exact for ASCII, generous for the rest
  for (std::size_t at = result.had_bom ? kBom.size() : 0; at < bytes.size();) {
    result.text.push_back(decode_one(bytes, at, source));
  }
  return result;
}

void utf8_append(std::string& bytes, char32_t c) {
  check(is_code_point(c), "text", "not a Unicode code point: 0x{:X} is a surrogate or above 0x10FFFF",
        static_cast<std::uint32_t>(c));
  const auto tail = [c](int shift) { return static_cast<char>(0x80 | ((c >> shift) & 0x3F)); };
  if (c < 0x80) {
    bytes += static_cast<char>(c);
  } else if (c < 0x800) {
    bytes += {static_cast<char>(0xC0 | (c >> 6)), tail(0)};
  } else if (c < 0x10000) {
    bytes += {static_cast<char>(0xE0 | (c >> 12)), tail(6), tail(0)};
  } else {
    bytes += {static_cast<char>(0xF0 | (c >> 18)), tail(12), tail(6), tail(0)};
  }
}

std::string utf8_encode(char32_t c) {
  std::string bytes;
  utf8_append(bytes, c);
  return bytes;
}

std::string utf8_encode(std::u32string_view text) {
  std::string bytes;
  bytes.reserve(text.size());
  for (const char32_t c : text) utf8_append(bytes, c);
  return bytes;
}

std::string code_point_name(char32_t c) { return fmt::format("U+{:04X}", static_cast<std::uint32_t>(c)); }

std::string escape(char32_t c) {
  switch (c) {
    case U'\n':
      return "\\n";
    case U'\r':
      return "\\r";
    case U'\t':
      return "\\t";
    case U'\\':
      return "\\\\";
    default:
      break;
  }
  if (is_code_point(c) && is_invisible(c)) return fmt::format("\\u{{{:04X}}}", static_cast<std::uint32_t>(c));
  return utf8_encode(c);
}

std::string escape(std::u32string_view text) {
  std::string shown;
  for (const char32_t c : text) shown += escape(c);
  return shown;
}

std::u32string unescape(std::string_view text) {
  const std::u32string source = utf8_decode(text, "escaped text").text;
  std::u32string result;
  for (std::size_t i = 0; i < source.size(); ++i) {
    if (source[i] != U'\\') {
      result += source[i];
      continue;
    }
    const std::size_t start = i++;
    const char32_t kind = i < source.size() ? source[i] : U'\0';
    if (kind == U'n') {
      result += U'\n';
    } else if (kind == U'r') {
      result += U'\r';
    } else if (kind == U't') {
      result += U'\t';
    } else if (kind == U'\\') {
      result += U'\\';
    } else {
      check(kind == U'u', "text",
            "unknown escape at character {} of '{}': \\n, \\r, \\t, \\\\ and \\u{{HEX}} are known", start,
            text);
      const std::size_t end = source.find(U'}', i);
      const std::size_t digits = end == std::u32string::npos ? 0 : end - i - 2;
      bool ok = end != std::u32string::npos && source[i + 1] == U'{' && digits >= 1 && digits <= 6;
      char32_t value = 0;
      for (std::size_t k = i + 2; ok && k < end; ++k) {
        const int digit = hex_digit(source[k]);
        ok = digit >= 0;
        value = value * 16 + static_cast<char32_t>(digit);
      }
      check(ok && is_code_point(value), "text",
            "bad escape at character {} of '{}': \\u{{...}} takes the 1 to 6 hex digits of a code point",
            start, text);
      result += value;
      i = end;
    }
  }
  return result;
}

}  // namespace minigpt
