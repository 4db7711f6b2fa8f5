// Texts that are unusual but legal, and things that are no texts.

#include <nlohmann/json.hpp>

#include "models/utf8.h"
#include "tests/tools/run_command.h"

namespace minigpt::test {
namespace {

using namespace std::string_view_literals;

std::string repeated(std::string_view text, int times) {
  std::string result;
  for (int i = 0; i < times; ++i) result += text;
  return result;
}

// Trains on the text, and reads back what the model says of it. The same characters must come out as went in.
void check_trains(const std::string& text, std::string_view vocabulary) {
  const Desk desk;
  desk.write("t.txt", text);
  const Outcome run = desk.run("train --data t.txt --out m --steps 3" + std::string(kTiny));
  CAPTURE(run.text());
  REQUIRE(run.code == 0);
  CHECK_FALSE(contains(run.out, "nan"));
  CHECK(contains(desk.run("info --model m").out, vocabulary));
  desk.write("prompt.txt", text);
  CHECK(desk.run("sample --model m --tokens 0 --prompt-file prompt.txt").out == text + "\n");
  CHECK(desk.run("sample --model m --seed 1 --tokens 20").code == 0);
  CHECK(desk.run("eval --model m --data t.txt").code == 0);
}

TEST_CASE("D-09: line ends of other systems are characters, and come back as they were") {
  check_trains(repeated("ab\r\n", 100), "vocabulary of 4: \\n \\r a b\n");
  check_trains(repeated("ab\r", 100), "vocabulary of 3: \\r a b\n");
  check_trains(repeated("ab\xE2\x80\xA8", 100), "vocabulary of 3: a b \\u{2028}\n");
}

TEST_CASE(
    "D-09: combining characters, other scripts, the last code points, and a byte-order mark in the middle") {
  check_trains(repeated("e\xCC\x81\xC3\xA9", 100),
               "\\u{0301}");  // the accent alone, and the letter that has it
  check_trains(repeated("\xF4\x8F\xBF\xBF"
                        "a",
                        100),
               "\\u{10FFFF}");
  check_trains(repeated("\xEF\xBF\xBE"
                        "a",
                        100),
               "\\u{FFFE}");  // U+FFFE, no mark: it is not the text's first
  check_trains("x" + repeated("\xEF\xBB\xBF"
                              "a",
                              100),
               "\\u{FEFF}");
  check_trains(repeated("\xD7\xA9\xD7\x9C\xE2\x80\xAE", 100), "\\u{202E}");
}

TEST_CASE("D-09: surrogates, numbers beyond Unicode and Latin-1 are refused with the byte") {
  for (const auto& [tail, reason] : {std::pair{"\xED\xA0\x80", "byte 1500: 0xED 0xA0 0x80 (a surrogate"},
                                     {"\xF4\x90\x80\x80", "byte 1500: 0xF4 0x90 0x80 0x80 (above U+10FFFF"},
                                     {"\xF6l", "byte 1500: 0xF6"},
                                     {"\xC0\x80", "byte 1500: 0xC0 0x80 (an overlong form"}}) {
    const Desk desk;
    desk.write("t.txt", english_text() + tail);
    check_refused(desk, "train --data t.txt --out m", reason);
    CHECK_FALSE(desk.has("m"));
  }
}

TEST_CASE("D-09: UTF-16 without a mark is legal, and said, with the number of NULs") {
  const Desk desk;
  std::string wide;
  for (const char c : english_text()) wide += std::string{c, '\0'};
  desk.write("t.txt", wide);
  const Outcome run = desk.run("train --data t.txt --out m --steps 1" + std::string(kTiny));
  CHECK_MESSAGE(run.code == 0, run.text());
  CHECK(
      contains(run.out, "note: t.txt: 1500 of 3000 characters are NUL; is this UTF-16 text without a mark?"));
}

TEST_CASE("D-05, N-01: a text of a single character has nothing to learn, and says 0") {
  for (const std::string& character :
       {std::string("a"), std::string("\xF0\x9F\x98\x80"), std::string(1, '\0'), std::string("\n")}) {
    const Desk desk;
    desk.write("t.txt", repeated(character, 500));
    const Outcome run = desk.run("train --data t.txt --out m --steps 5" + std::string(kTiny));
    CAPTURE(run.text());
    REQUIRE(run.code == 0);
    CHECK(contains(run.out, "vocabulary 1\n"));
    CHECK(contains(run.out, "guessing evenly 0.000"));
    CHECK_FALSE(contains(run.out, "nan"));
    CHECK_FALSE(contains(run.out, "-0.0"));
    CHECK(desk.run("sample --model m --seed 1 --tokens 3").out == repeated(character, 3) + "\n");
    CHECK(contains(desk.run("eval --model m --data t.txt").out, "0.0000 nats per character"));
  }
}

TEST_CASE("D-01: a single line of three million characters is a text like any other") {
  const Desk desk;
  desk.write("t.txt", repeated("one long line, ", 200000));
  const Outcome run = desk.run("train --data t.txt --out m --steps 1" + std::string(kTiny));
  CHECK_MESSAGE(run.code == 0, run.text());
  CHECK(contains(run.out, "2700000 characters to train on, 300000 for validation"));
}

TEST_CASE("T-12: what a text cannot be read from: standard input, devices, a name with a slash too many") {
  const Desk desk;
  desk.write("t.txt", english_text());
  for (const auto& [data, reason] : {std::pair{"-", "-: no such file"},
                                     {"/dev/null", "/dev/null: is not a regular file"},
                                     {"/dev/full", "/dev/full: is not a regular file"},
                                     {"t.txt/", "t.txt/: "},
                                     {"t.txt/more", "t.txt/more: "},
                                     {".", ".: is a directory"}}) {
    check_refused(desk, "train --out m --data " + std::string(data), reason);
    check_refused(desk, "ngram --data " + std::string(data), reason);
    CHECK_FALSE(desk.has("m"));
  }
}

TEST_CASE("C-13, T-05: a text that is gone, shorter or longer than it was is noticed by a resumed run") {
  const Desk desk;
  desk.write("t.txt", english_text());
  REQUIRE(desk.run("train --data t.txt --out m --steps 3" + std::string(kTiny)).code == 0);
  const std::string state = desk.read("m/last/state.json");
  const std::string resume = "train --resume --out m --steps 5";
  for (const std::string& text :
       {english_text() + "a", english_text().substr(1), english_text().substr(0, 1400)}) {
    desk.write("t.txt", text);
    check_refused(desk, resume, "the text is not the one this run was started on");
  }
  desk.write("t.txt", english_text() + "\xC3\xA9");
  CHECK(desk.run(resume).code == 2);
  std::filesystem::remove(desk.path() / "t.txt");
  check_refused(desk, resume, "t.txt: no such file");
  CHECK(desk.read("m/last/state.json") == state);
  desk.write("moved.txt", english_text());
  const Outcome run = desk.run(resume + " --data moved.txt");
  CHECK_MESSAGE(run.code == 0, run.text());
}

TEST_CASE("T-03: a resume that asks for fewer steps than are made changes nothing") {
  const Desk desk;
  desk.write("t.txt", english_text());
  REQUIRE(desk.run("train --data t.txt --out m --steps 6" + std::string(kTiny)).code == 0);
  const std::string weights = desk.read("m/last/model.safetensors"), log = desk.read("m/metrics.jsonl");
  for (const char* steps : {"6", "3", "1"}) {
    const Outcome run = desk.run("train --resume --out m --steps " + std::string(steps));
    CHECK_MESSAGE(run.code == 0, run.text());
    CHECK(contains(run.out, "nothing to do: 6 steps made already"));
    CHECK(desk.read("m/last/model.safetensors") == weights);
    CHECK(desk.read("m/metrics.jsonl") == log);
  }
  // Nor does it shorten what the folder says of itself.
  CHECK(nlohmann::json::parse(desk.read("m/config.json"))["steps"] == 6);
}

}  // namespace
}  // namespace minigpt::test
