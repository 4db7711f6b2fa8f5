#pragma once
// The character tokenizer: one id per distinct character.
//
//   ids 0 .. n-1    the distinct code points of the training text, in code point order (as nanoGPT's prepare.py)
//   id  n           only with a document token: "<doc>", the boundary between two documents
//   V = vocab_size() = n, or n + 1 with the document token
//
// A model that learns separate short documents (a list of names, one a line) starts each from <doc> and says
// <doc> when it is done. It is not a character: encode() never yields it, decode() writes it as a line break.

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace minigpt {

class CharTokenizer {
 public:
  // The tokenizer of a text. With a document token the text is a list of documents, one a line: line breaks
  // separate them (split_lines) and are no characters of the vocabulary. Throws Error when the text has no
  // characters.
  static CharTokenizer from_text(std::u32string_view text, bool with_document_token = false);

  // Reads what to_json() wrote; `source` labels errors. Strict: an unknown format, version or field, a
  // missing field, a wrong type, an entry that is not one character, a duplicate and an empty vocabulary are
  // each an Error.
  static CharTokenizer from_json(std::string_view json, std::string_view source);
  static CharTokenizer load(const std::filesystem::path& path);

  // tokenizer.json, pure ASCII; characters[i] is the character of id i in JSON's own escapes:
  //   {"format": "minigpt-characters", "version": 1, "document_token": false,
  //    "characters": ["\n", " ", "a", "\u00e9"]}
  std::string to_json() const;
  // Throws RunError when the file cannot be written completely.
  void save(const std::filesystem::path& path) const;

  std::int64_t vocab_size() const {
    return static_cast<std::int64_t>(characters_.size()) + (document_token_ ? 1 : 0);
  }
  bool has_document_token() const { return document_token_; }
  // The id of <doc>. Throws Error when there is none.
  std::int32_t document_id() const;
  // Where generation begins without a prompt: <doc> if there is one, else a line break if the training text
  // had any, else the first character of the vocabulary. Always a valid id.
  std::int32_t start_id() const;

  bool contains(char32_t c) const { return id_of(c) >= 0; }
  // text -> ids. `source` ("prompt", a file name) labels the error for a character outside the vocabulary,
  // which shows the character, its code point and its position (in characters, from 0).
  std::vector<std::int32_t> encode(std::u32string_view text, std::string_view source = "text") const;
  // The same for UTF-8 bytes; also throws what utf8_decode throws.
  std::vector<std::int32_t> encode_utf8(std::string_view bytes, std::string_view source = "text") const;

  // ids -> UTF-8; <doc> becomes "\n". Throws Error for an id outside 0..V-1, with its position.
  std::string decode(std::span<const std::int32_t> ids) const;
  std::string decode(std::int32_t id) const { return decode(std::span(&id, 1)); }
  // The name of one id in listings: "<doc>", or escape() of its character.
  std::string label(std::int32_t id) const;
  // Id -> character, without the document token.
  std::u32string_view characters() const { return characters_; }

  bool operator==(const CharTokenizer& other) const {
    return characters_ == other.characters_ && document_token_ == other.document_token_;
  }

 private:
  CharTokenizer(std::u32string characters, bool with_document_token);
  static constexpr std::size_t kPage = 256;
  std::int32_t id_of(char32_t c) const {
    return c / kPage < pages_.size() ? ids_[pages_[c / kPage] + c % kPage] : -1;
  }

  std::u32string characters_;  // id -> character
  // Character -> id or -1, in pages: scripts use few, and a table up to an emoji would have 128,000 entries.
  std::vector<std::int32_t> ids_;
  std::vector<std::size_t> pages_;  // where in ids_ the page of a character begins; 0 is the empty one
  bool document_token_ = false;
};

}  // namespace minigpt
