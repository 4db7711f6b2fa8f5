#include "models/tokenizer.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <unordered_map>
#include <utility>

#include "models/plural.h"
#include "models/strict_json.h"
#include "models/text_file.h"
#include "models/utf8.h"
#include "nn/files.h"
#include "tensor/error.h"

namespace minigpt {
namespace {

using json = nlohmann::ordered_json;

constexpr const char* kFormat = "minigpt-characters";
constexpr int kVersion = 1;

// The field `name` of `object`, which must be there and of the wanted type.
const json& field(const json& object, const char* name, json::value_t type, const char* type_name,
                  std::string_view source) {
  const auto found = object.find(name);
  check(found != object.end(), "tokenizer", "{}: field \"{}\" is missing", source, name);
  // Parsed integers come as signed or unsigned depending on their sign alone.
  const bool ok = type == json::value_t::number_integer ? found->is_number_integer() : found->type() == type;
  check(ok, "tokenizer", "{}: field \"{}\" must be {}, not {}", source, name, type_name, found->type_name());
  return *found;
}

}  // namespace

CharTokenizer::CharTokenizer(std::u32string characters, bool with_document_token)
    : characters_(std::move(characters)), document_token_(with_document_token) {
  const char32_t largest = *std::max_element(characters_.begin(), characters_.end());
  ids_.assign(kPage, -1);
  pages_.assign(largest / kPage + 1, 0);
  for (std::size_t id = 0; id < characters_.size(); ++id) {
    const char32_t c = characters_[id];
    std::size_t& page = pages_[c / kPage];
    if (page == 0) {
      page = ids_.size();
      ids_.resize(page + kPage, -1);
    }
    ids_[page + c % kPage] = static_cast<std::int32_t>(id);
  }
}

CharTokenizer CharTokenizer::from_text(std::u32string_view text, bool with_document_token) {
  std::vector<bool> seen;  // grows to the largest number: most texts need a thousandth of all code points
  std::u32string characters;
  const auto mark = [&](std::u32string_view part) {
    for (const char32_t c : part) {
      check(is_code_point(c), "tokenizer", "not a Unicode code point: 0x{:X}", static_cast<std::uint32_t>(c));
      if (c >= seen.size()) seen.resize(std::size_t{c} + 1);
      if (!seen[c]) characters += c;
      seen[c] = true;
    }
  };
  if (with_document_token) {
    for (const std::u32string_view line : split_lines(text)) mark(line);
  } else {
    mark(text);
  }
  std::sort(characters.begin(), characters.end());
  check(!characters.empty(), "tokenizer", "the text has no characters to build a vocabulary from");
  return CharTokenizer(std::move(characters), with_document_token);
}

std::string CharTokenizer::to_json() const {
  json characters = json::array();
  for (const char32_t c : characters_) characters.push_back(utf8_encode(c));
  json file;
  file["format"] = kFormat;
  file["version"] = kVersion;
  file["document_token"] = document_token_;
  file["characters"] = characters;
  // ASCII escapes keep the file intact through any editor, terminal or mail program.
  return file.dump(-1, ' ', /*ensure_ascii=*/true) + "\n";
}

CharTokenizer CharTokenizer::from_json(std::string_view text, std::string_view source) {
  const json file = parse_json_object(text, "tokenizer", source);
  const auto& format =
      field(file, "format", json::value_t::string, "a string", source).get_ref<const std::string&>();
  check(format == kFormat, "tokenizer", "{}: format is \"{}\", but \"{}\" is needed", source, format,
        kFormat);
  const json& version = field(file, "version", json::value_t::number_integer, "an integer", source);
  check(version == kVersion, "tokenizer", "{}: version is {}, but this program reads version {}", source,
        version.dump(), kVersion);
  for (const auto& [name, value] : file.items()) {
    const bool known =
        name == "format" || name == "version" || name == "document_token" || name == "characters";
    check(known, "tokenizer", "{}: unknown field \"{}\"", source, name);
  }
  const bool document_token =
      field(file, "document_token", json::value_t::boolean, "a boolean", source).get<bool>();
  const json& entries = field(file, "characters", json::value_t::array, "an array", source);
  check(!entries.empty(), "tokenizer", "{}: the vocabulary is empty", source);

  std::u32string characters;
  std::unordered_map<char32_t, std::size_t> first_use;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    check(entries[i].is_string(), "tokenizer", "{}: characters[{}] must be a string, not {}", source, i,
          entries[i].type_name());
    const auto& bytes = entries[i].get_ref<const std::string&>();
    // utf8_decode would drop U+FEFF as a byte-order mark; behind another character it is data.
    const std::u32string entry = utf8_decode("." + bytes, source).text.substr(1);
    if (entry.size() != 1)
      fail("tokenizer", "{}: characters[{}] must be one character, not {}: \"{}\"", source, i, entry.size(),
           escape(entry));
    const char32_t c = entry[0];
    const auto [first, fresh] = first_use.emplace(c, i);
    if (!fresh)
      fail("tokenizer", "{}: duplicate character '{}' ({}): characters[{}] and characters[{}]", source,
           escape(c), code_point_name(c), first->second, i);
    characters += c;
  }
  return CharTokenizer(std::move(characters), document_token);
}

CharTokenizer CharTokenizer::load(const std::filesystem::path& path) {
  return from_json(read_file(path, "tokenizer"), path.string());
}

void CharTokenizer::save(const std::filesystem::path& path) const { write_file_atomically(path, to_json()); }

std::int32_t CharTokenizer::document_id() const {
  check(document_token_, "tokenizer", "this vocabulary of {} has no document token",
        count_of(characters_.size(), "character"));
  return static_cast<std::int32_t>(characters_.size());
}

std::int32_t CharTokenizer::start_id() const {
  if (document_token_) return document_id();
  return std::max(id_of(U'\n'), 0);
}

std::vector<std::int32_t> CharTokenizer::encode(std::u32string_view text, std::string_view source) const {
  std::vector<std::int32_t> ids(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    ids[i] = id_of(text[i]);
    if (ids[i] < 0) {
      const std::string shown = is_code_point(text[i]) ? escape(text[i]) : "?";
      fail("tokenizer",
           "{}: character '{}' ({}) at position {} is not in the vocabulary of {}; "
           "`minigpt info --model DIR` lists the vocabulary",
           source, shown, code_point_name(text[i]), i, count_of(characters_.size(), "character"));
    }
  }
  return ids;
}

std::vector<std::int32_t> CharTokenizer::encode_utf8(std::string_view bytes, std::string_view source) const {
  return encode(utf8_decode(bytes, source).text, source);
}

std::string CharTokenizer::decode(std::span<const std::int32_t> ids) const {
  std::string bytes;
  bytes.reserve(ids.size());
  for (std::size_t i = 0; i < ids.size(); ++i) {
    check(ids[i] >= 0 && ids[i] < vocab_size(), "tokenizer",
          "id {} at position {} is outside the vocabulary 0..{}", ids[i], i, vocab_size() - 1);
    const auto id = static_cast<std::size_t>(ids[i]);
    utf8_append(bytes, id < characters_.size() ? characters_[id] : U'\n');
  }
  return bytes;
}

std::string CharTokenizer::label(std::int32_t id) const {
  check(id >= 0 && id < vocab_size(), "tokenizer", "id {} is outside the vocabulary 0..{}", id,
        vocab_size() - 1);
  const auto index = static_cast<std::size_t>(id);
  return index < characters_.size() ? escape(characters_[index]) : "<doc>";
}

}  // namespace minigpt
