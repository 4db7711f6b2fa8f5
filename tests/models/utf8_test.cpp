#include "models/utf8.h"

#include <doctest/doctest.h>

#include <string>
#include <string_view>

#include "tensor/error.h"

namespace minigpt {
namespace {

using namespace std::string_view_literals;

// The error text of decoding `bytes`, "" when they are accepted.
std::string refusal(std::string_view bytes) {
  try {
    utf8_decode(bytes, "FILE");
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST_CASE("utf8: characters of one to four bytes, NUL included") {
  CHECK(utf8_decode("", "FILE").text.empty());
  CHECK(utf8_decode("na\xC3\xAFve \xE2\x80\x93 \xE6\x9D\xB1\xE4\xBA\xAC \xF0\x9F\x98\x80", "FILE").text ==
        U"na\u00EFve \u2013 \u6771\u4EAC \U0001F600");
  CHECK(utf8_decode("a\0b"sv, "FILE").text == U"a\0b"sv);
}

TEST_CASE("utf8: every code point survives encode and decode, every other number is refused") {
  std::string bytes = ".";  // keeps U+FEFF from standing first, where it would be a byte-order mark
  std::u32string text = U".";
  for (char32_t c = 0; c <= 0x10FFFF; ++c) {
    if (c < 0xD800 || c > 0xDFFF) {
      text += c;
      utf8_append(bytes, c);
    } else if (is_code_point(c)) {
      FAIL_CHECK("surrogate accepted: " << code_point_name(c));
    }
  }
  CHECK(utf8_decode(bytes, "FILE").text == text);
  CHECK(utf8_encode(text) == bytes);
  CHECK_THROWS_AS(utf8_encode(char32_t{0xD800}), Error);
  CHECK_THROWS_AS(utf8_encode(char32_t{0x110000}), Error);
}

TEST_CASE("utf8: one character at a time gives the same bytes as the whole text") {
  const std::u32string text = U"\u00F6 \u6771 \U0001F600\n";
  std::string streamed;
  for (const char32_t c : text) streamed += utf8_encode(c);
  CHECK(streamed == utf8_encode(text));
}

TEST_CASE("utf8: malformed bytes are refused with their offset") {
  CHECK(refusal("abc\xFFz") ==
        "[text] FILE: invalid UTF-8 at byte 3: 0xFF (this byte never occurs in UTF-8)");
  CHECK(refusal("\x80") ==
        "[text] FILE: invalid UTF-8 at byte 0: 0x80 (a continuation byte without its lead byte)");
  CHECK(refusal("ab\xE6\x9D") ==
        "[text] FILE: invalid UTF-8 at byte 2: 0xE6 0x9D (the text ends inside a character)");
  CHECK(refusal("\xE6\x9Dx") ==
        "[text] FILE: invalid UTF-8 at byte 0: 0xE6 0x9D (a continuation byte is missing)");
  CHECK(refusal("\xC0\xAF") == "[text] FILE: invalid UTF-8 at byte 0: 0xC0 0xAF (an overlong form)");
  CHECK(refusal("\xC1\xBF").find("overlong") != std::string::npos);
  CHECK(refusal("\xE0\x9F\xBF").find("overlong") != std::string::npos);
  CHECK(refusal("\xF0\x8F\xBF\xBF").find("overlong") != std::string::npos);
  CHECK(refusal("\xED\xA0\x80").find("surrogate") != std::string::npos);
  CHECK(refusal("\xF4\x90\x80\x80").find("above U+10FFFF") != std::string::npos);
  CHECK(refusal("\xF5\x80\x80\x80").find("above U+10FFFF") != std::string::npos);
  // The edges of what is legal.
  CHECK(refusal("\xC2\x80 \xE0\xA0\x80 \xED\x9F\xBF \xEE\x80\x80 \xF0\x90\x80\x80 \xF4\x8F\xBF\xBF").empty());
}

TEST_CASE("utf8: byte-order marks") {
  const DecodedText marked = utf8_decode(
      "\xEF\xBB\xBF"
      "abc",
      "FILE");
  CHECK(marked.text == U"abc");
  CHECK(marked.had_bom);
  CHECK_FALSE(utf8_decode("abc", "FILE").had_bom);
  // Only the first is a mark; offsets still count it.
  CHECK(utf8_decode("\xEF\xBB\xBF\xEF\xBB\xBF", "FILE").text == U"\uFEFF");
  CHECK(refusal("\xEF\xBB\xBF\xFF").find("at byte 3") != std::string::npos);

  CHECK(refusal("\xFF\xFE"
                "a\0"sv) ==
        "[text] FILE: this is UTF-16 (little-endian) text, but UTF-8 is needed; save it as UTF-8 and try "
        "again");
  CHECK(refusal("\xFE\xFF\0a"sv).find("UTF-16 (big-endian)") != std::string::npos);
  CHECK(refusal("\xFF\xFE\0\0a\0\0\0"sv).find("UTF-32 (little-endian)") != std::string::npos);
  CHECK(refusal("\0\0\xFE\xFF\0\0\0a"sv).find("UTF-32 (big-endian)") != std::string::npos);
}

TEST_CASE("escape: what a reader can see stays, the rest gets a name") {
  CHECK(escape(U"a Z~\u00E9\u6771\U0001F600") == "a Z~\xC3\xA9\xE6\x9D\xB1\xF0\x9F\x98\x80");
  CHECK(escape(U"\n\r\t\\") == "\\n\\r\\t\\\\");
  CHECK(escape(U'\u200B') == "\\u{200B}");
  CHECK(escape(U'\u0007') == "\\u{0007}");
  CHECK(escape(U'\u00A0') == "\\u{00A0}");
  CHECK(escape(char32_t{0}) == "\\u{0000}");
  CHECK(escape(char32_t{0xE0001}) == "\\u{E0001}");
  CHECK_THROWS_AS(escape(char32_t{0xDC00}), Error);
  CHECK(code_point_name(U'A') == "U+0041");
  CHECK(code_point_name(U'\U0001F600') == "U+1F600");
}

TEST_CASE("escape: unescape gives back every character, alone and in a text") {
  std::u32string all;
  for (char32_t c = 0; c <= 0x10FFFF; ++c) {
    if (!is_code_point(c)) continue;
    all += c;
    if (c < 0x3000 && unescape(escape(c)) != std::u32string(1, c)) FAIL_CHECK("lost: " << code_point_name(c));
  }
  CHECK(unescape(escape(all)) == all);
  CHECK(unescape("\\u{41}\\u{00041}") == U"AA");
}

TEST_CASE("escape: malformed escapes are refused") {
  for (const char* text : {"\\", "\\x", "\\u", "\\u{", "\\u{}", "\\u{12", "\\u41}", "\\u}", "\\u{G}",
                           "\\u{0000041}", "\\u{D800}", "\\u{110000}"}) {
    CAPTURE(text);
    CHECK_THROWS_AS(unescape(text), Error);
  }
  CHECK_THROWS_WITH_AS(unescape("ab\\q"), doctest::Contains("unknown escape at character 2 of 'ab\\q'"),
                       Error);
}

}  // namespace
}  // namespace minigpt
