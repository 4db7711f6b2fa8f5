#pragma once
// UTF-8: bytes <-> Unicode code points, and a printable form of any character.
//
// A "character" in this project is one Unicode code point. What looks like one letter on screen can be
// several (an emoji with a skin tone, an e followed by a combining accent); the model then learns them as
// several characters. Everything here works on numbers alone, so the locale and the environment never change
// a result.
//
// Source: RFC 3629; the Unicode Standard, section 3.9, table 3-7 (well-formed UTF-8 byte sequences).

#include <string>
#include <string_view>

namespace minigpt {

// Text after decoding. `had_bom`: the bytes began with a UTF-8 byte-order mark, which is not part of `text`.
struct DecodedText {
  std::u32string text;
  bool had_bom = false;
};

// A Unicode scalar value: 0..0x10FFFF without the surrogates 0xD800..0xDFFF, which exist only inside UTF-16.
constexpr bool is_code_point(char32_t c) { return c < 0xD800 || (c >= 0xE000 && c <= 0x10FFFF); }

// Strict UTF-8 -> code points. A NUL is a character like any other; a leading byte-order mark is dropped.
// `source` (a file name, "prompt") only labels errors.
// Throws Error for bytes that open with a UTF-16 or UTF-32 byte-order mark (it names which), and for the
// first malformed sequence (stray or missing continuation byte, overlong form, surrogate, above U+10FFFF, cut
// short):
//   [text] FILE: invalid UTF-8 at byte 1234: 0xFF (...)          bytes counted from 0, a dropped mark
//   included
DecodedText utf8_decode(std::string_view bytes, std::string_view source);

// Code points -> UTF-8. Nothing is held back between characters, so a sampler can print each one as it comes.
// Throws Error when a value is not a code point.
void utf8_append(std::string& bytes, char32_t c);
std::string utf8_encode(char32_t c);
std::string utf8_encode(std::u32string_view text);

// "U+0041": at least four upper-case hex digits.
std::string code_point_name(char32_t c);

// The printable form used in error texts and vocabulary listings:
//   \n  \r  \t  \\        line feed, carriage return, tab, backslash
//   \u{200B}              whatever would be invisible, move the cursor or stick to its neighbour: controls,
//   spaces other
//                         than U+0020, format and direction marks, combining marks, variation selectors,
//                         private use
//   anything else         itself
// Every backslash is escaped, so unescape(escape(text)) == text.
// Throws Error when a value is not a code point.
std::string escape(char32_t c);
std::string escape(std::u32string_view text);

// The inverse; \u{...} takes one to six hex digits, characters that need no escape may stand as themselves.
// Throws Error (naming the byte) for an unknown or unfinished escape, and what utf8_decode throws.
std::u32string unescape(std::string_view text);

}  // namespace minigpt
