#include "models/tokenizer.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "models/utf8.h"
#include "tensor/error.h"

namespace minigpt {
namespace {

using Ids = std::vector<std::int32_t>;

TEST_CASE("tokenizer: distinct characters in code point order") {
  const CharTokenizer tokenizer = CharTokenizer::from_text(U"hello\u6771\nh\U0001F600\u00E9");
  CHECK(tokenizer.vocab_size() == 8);
  CHECK(tokenizer.characters() == U"\nehlo\u00E9\u6771\U0001F600");
  CHECK(tokenizer.encode(U"hole\n") == Ids{2, 4, 3, 1, 0});
  CHECK(tokenizer.decode(Ids{7, 6, 5, 0}) == utf8_encode(U"\U0001F600\u6771\u00E9\n"));
  CHECK(tokenizer.contains(U'h'));
  CHECK_FALSE(tokenizer.contains(U'H'));
  CHECK_FALSE(tokenizer.contains(char32_t{0xFFFFFFFF}));
  CHECK_THROWS_AS(CharTokenizer::from_text(U""), Error);
}

TEST_CASE("tokenizer: encode then decode is the identity, however the text arrives") {
  const std::u32string text = U"na\u00EFve \u2013 \u6771\u4EAC \U0001F600\0\t\r\n";
  const CharTokenizer tokenizer = CharTokenizer::from_text(text);
  CHECK(tokenizer.decode(tokenizer.encode(text)) == utf8_encode(text));
  CHECK(tokenizer.encode_utf8(utf8_encode(text)) == tokenizer.encode(text));
}

TEST_CASE("tokenizer: a character that was never in the text is named, escaped and located") {
  const CharTokenizer tokenizer = CharTokenizer::from_text(U"abc");
  CHECK_THROWS_WITH_AS(
      tokenizer.encode_utf8("A", "prompt"),
      "[tokenizer] prompt: character 'A' (U+0041) at position 0 is not in the vocabulary of 3 characters; "
      "`minigpt info --model DIR` lists the vocabulary",
      Error);
  CHECK_THROWS_WITH_AS(tokenizer.encode_utf8("ab\t"),
                       doctest::Contains("character '\\t' (U+0009) at position 2"), Error);
  CHECK_THROWS_WITH_AS(tokenizer.encode_utf8("a\\n"),
                       doctest::Contains("character '\\\\' (U+005C) at position 1"), Error);
  CHECK_THROWS_WITH_AS(tokenizer.encode(U"b\U0001F600"), doctest::Contains("(U+1F600) at position 1"), Error);
  CHECK_THROWS_WITH_AS(tokenizer.encode(U"\u200B"), doctest::Contains("'\\u{200B}' (U+200B)"), Error);
  CHECK_THROWS_WITH_AS(tokenizer.encode(std::u32string(1, char32_t{0xD800})),
                       doctest::Contains("'?' (U+D800)"), Error);
  CHECK_THROWS_WITH_AS(tokenizer.encode_utf8("a\xFF", "prompt"),
                       doctest::Contains("prompt: invalid UTF-8 at byte 1"), Error);
}

TEST_CASE("tokenizer: an id outside the vocabulary is an error with its position") {
  const CharTokenizer tokenizer = CharTokenizer::from_text(U"abc");
  CHECK_THROWS_WITH_AS(tokenizer.decode(Ids{0, 3}),
                       "[tokenizer] id 3 at position 1 is outside the vocabulary 0..2", Error);
  CHECK_THROWS_AS(tokenizer.decode(-1), Error);
  CHECK_THROWS_AS(tokenizer.label(3), Error);
}

TEST_CASE("tokenizer: the start of generation is always in the vocabulary") {
  CHECK(CharTokenizer::from_text(U" \nab").start_id() == 0);
  CHECK(CharTokenizer::from_text(U"\t\nab").start_id() == 1);  // the line break, not the first id
  CHECK(CharTokenizer::from_text(U"abcabc").start_id() == 0);  // no line break, no space: 'a'
  CHECK(CharTokenizer::from_text(U"ab\nc", true).start_id() == 3);
}

TEST_CASE("tokenizer: the document token is the last id and no character") {
  const CharTokenizer tokenizer = CharTokenizer::from_text(U"emma\r\nava\n", true);
  CHECK(tokenizer.characters() == U"aemv");
  CHECK(tokenizer.vocab_size() == 5);
  CHECK(tokenizer.has_document_token());
  CHECK(tokenizer.document_id() == 4);
  CHECK(tokenizer.label(4) == "<doc>");
  CHECK(tokenizer.decode(Ids{4, 0, 3, 0, 4}) == "\nava\n");
  CHECK_THROWS_AS(tokenizer.decode(5), Error);
  CHECK_THROWS_AS(tokenizer.encode(U"ava\n"), Error);
  CHECK_THROWS_AS(CharTokenizer::from_text(U"\n\r\n", true), Error);

  const CharTokenizer plain = CharTokenizer::from_text(U"emma\n");
  CHECK_FALSE(plain.has_document_token());
  CHECK_THROWS_AS(plain.document_id(), Error);
}

TEST_CASE("tokenizer: labels are what a listing shows, and lead back to the character") {
  const CharTokenizer tokenizer = CharTokenizer::from_text(U"\n\t a\\\u0007\u00A0\u200B");
  for (std::int32_t id = 0; id < tokenizer.vocab_size(); ++id) {
    CHECK(tokenizer.encode(unescape(tokenizer.label(id))) == Ids{id});
  }
}

TEST_CASE("tokenizer.json: written and read back") {
  CHECK(
      CharTokenizer::from_text(U"b\n\u00E9a").to_json() ==
      R"({"format":"minigpt-characters","version":1,"document_token":false,"characters":["\n","a","b","\u00e9"]})"
      "\n");
  const std::u32string odd(U"\0\"\\/\u007F\u200B\uFEFF\uFFFF\U0001F600\U0010FFFF", 10);
  for (const bool with_document_token : {false, true}) {
    const CharTokenizer tokenizer = CharTokenizer::from_text(odd, with_document_token);
    CHECK(tokenizer.characters().size() == 10);
    const CharTokenizer again = CharTokenizer::from_json(tokenizer.to_json(), "tokenizer.json");
    CHECK(again == tokenizer);
    CHECK(again.vocab_size() == tokenizer.vocab_size());
  }
  // Any order is accepted (a vocabulary made elsewhere); it is the file that defines the ids.
  CHECK(
      CharTokenizer::from_json(
          R"({"characters":["b","a"],"document_token":false,"version":1,"format":"minigpt-characters"})", "t")
          .encode(U"ab") == Ids{1, 0});
}

TEST_CASE("tokenizer.json: each thing that can be wrong is named") {
  const auto refused = [](const std::string& json, const char* why) {
    CAPTURE(json);
    CHECK_THROWS_WITH_AS(CharTokenizer::from_json(json, "t.json"), doctest::Contains(why), Error);
    CHECK_THROWS_WITH_AS(CharTokenizer::from_json(json, "t.json"), doctest::Contains("[tokenizer] t.json: "),
                         Error);
  };
  // A valid file with one field replaced ("" leaves it out).
  const auto file = [](std::string characters, std::string token = "false", std::string version = "1",
                       std::string format = "\"minigpt-characters\"") {
    std::string json = "{";
    for (const auto& [name, value] : {std::pair{"characters", characters}, std::pair{"document_token", token},
                                      std::pair{"version", version}, std::pair{"format", format}}) {
      if (!value.empty()) json += (json.size() > 1 ? ",\"" : "\"") + std::string(name) + "\":" + value;
    }
    return json + "}";
  };
  REQUIRE(CharTokenizer::from_json(file(R"(["a"])"), "t.json").vocab_size() == 1);

  refused("", "not valid JSON");
  refused("{", "not valid JSON");
  refused(R"({"characters":["\ud800"]})", "not valid JSON");  // half of a surrogate pair
  refused(file("[\"\xFF\"]"), "not valid JSON");
  refused(file(R"(["a"])") + "x", "not valid JSON");
  refused("[]", "must be a JSON object, not array");
  refused("null", "must be a JSON object, not null");
  refused(file(""), "field \"characters\" is missing");
  refused(file(R"("abc")"), "field \"characters\" must be an array, not string");
  refused(file("[]"), "the vocabulary is empty");
  refused(file(R"(["a",98])"), "characters[1] must be a string, not number");
  refused(file(R"(["a",""])"), "characters[1] must be one character, not 0");
  refused(file(R"(["a","\n\t"])"), "characters[1] must be one character, not 2: \"\\n\\t\"");
  refused(file(R"(["a","\t","a"])"), "duplicate character 'a' (U+0061): characters[0] and characters[2]");
  refused(file(R"(["a"])", ""), "field \"document_token\" is missing");
  refused(file(R"(["a"])", "1"), "field \"document_token\" must be a boolean, not number");
  refused(file(R"(["a"])", "false", ""), "field \"version\" is missing");
  refused(file(R"(["a"])", "false", "\"1\""), "field \"version\" must be an integer, not string");
  refused(file(R"(["a"])", "false", "1.0"), "field \"version\" must be an integer, not number");
  refused(file(R"(["a"])", "false", "2"), "version is 2, but this program reads version 1");
  refused(file(R"(["a"])", "false", "-1"), "version is -1");
  refused(file(R"(["a"])", "false", "1", ""), "field \"format\" is missing");
  refused(file(R"(["a"])", "false", "1", "\"gpt2\""),
          "format is \"gpt2\", but \"minigpt-characters\" is needed");
  refused(file(R"(["a"])", "false,\"extra\":0"), "unknown field \"extra\"");
  refused(std::string(100000, '['), "nested too deeply");  // deep nesting must not exhaust the stack
}

TEST_CASE("tokenizer.json: on disk") {
  const auto path = std::filesystem::temp_directory_path() / "minigpt-tokenizer-test.json";
  const CharTokenizer tokenizer = CharTokenizer::from_text(U"\u6771\u4EAC", true);
  tokenizer.save(path);
  CHECK(CharTokenizer::load(path) == tokenizer);
  std::filesystem::remove(path);
  CHECK_THROWS_WITH_AS(CharTokenizer::load(path), doctest::Contains("no such file"), Error);
  CHECK_THROWS_AS(tokenizer.save("/nonexistent/tokenizer.json"), RunError);
  if (std::filesystem::exists("/dev/full")) CHECK_THROWS_AS(tokenizer.save("/dev/full"), RunError);
}

}  // namespace
}  // namespace minigpt
