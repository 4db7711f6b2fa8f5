// Texts as they come: too short, oddly encoded, or no text at all.

#include <sys/stat.h>

#include "tests/tools/run_command.h"

namespace minigpt::test {
namespace {

using namespace std::string_view_literals;

std::string letters(std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) text += static_cast<char>('a' + i % 7);
  return text;
}

constexpr std::string_view kBlock64 =
    "train --data t.txt --out m --steps 2 --layers 1 --heads 2 --channels 16 --block 64 --batch 2 "
    "--eval-batches 1";

// Refused with exit code 2, one line of explanation, and nothing on the disk.
void check_refused(const Desk& desk, const Outcome& run, std::string_view reason) {
  CAPTURE(run.text());
  CHECK(run.code == 2);
  CHECK(run.out.empty());
  CHECK(contains(run.err, reason));
  CHECK(lines_of(run.err).size() == 1);
  CHECK(run.err.starts_with("minigpt: "));
  CHECK_FALSE(desk.has("m"));
}

TEST_CASE("D-01: a text shorter than one window is refused with the length found and the length needed") {
  for (const std::size_t size : {1, 20, 64}) {
    const Desk desk;
    desk.write("t.txt", letters(size));
    const Outcome run = desk.run(kBlock64);
    check_refused(desk, run, std::to_string(size) + " character");
    CHECK(contains(run.err, "65 are needed (block 64 + 1)"));
    CHECK(contains(run.err, "a longer text, a smaller block"));
  }
  const Desk desk;
  desk.write("t.txt", "");
  check_refused(desk, desk.run(kBlock64), "t.txt: is empty");
}

TEST_CASE("D-01: block + 1 characters train, if the training part holds them all") {
  const Desk desk;
  desk.write("t.txt", letters(65));
  const Outcome split = desk.run(kBlock64);  // 58 of 65 are for training
  check_refused(desk, split, "65 characters, of which 58 are for training");
  CHECK(contains(split.err, "a larger training fraction"));
  const Outcome whole = desk.run(kBlock64, {"--train-fraction", "1"});
  CHECK_MESSAGE(whole.code == 0, whole.text());
  CHECK(desk.has("m/model.safetensors"));
}

TEST_CASE("D-02: without a whole window for validation it is said once, and the loss is n/a") {
  for (const char* fraction : {"0.9", "1"}) {
    const Desk desk;
    desk.write("t.txt", letters(300));
    const Outcome run = desk.run(kBlock64, {"--train-fraction", fraction});
    CAPTURE(run.text());
    CHECK(run.code == 0);
    CHECK(run.out.find("note: no validation loss") != run.out.npos);
    CHECK(run.out.find("note: no validation loss") == run.out.rfind("note: no validation loss"));
    CHECK(contains(run.out, "val loss n/a"));
    CHECK_FALSE(contains(run.out, "val loss 0"));
    CHECK_FALSE(contains(run.out, "nan"));
    CHECK(contains(desk.read("m/metrics.jsonl"), "\"val_loss\":null"));
    // The newest weights count as the best, and a sample can be taken.
    CHECK(desk.read("m/model.safetensors") == desk.read("m/last/model.safetensors"));
    CHECK(desk.run("sample --model m --tokens 3").code == 0);
  }
}

TEST_CASE("D-09: UTF-8 text is read by characters, whatever the locale") {
  const std::string text = "na\u00efve \u2013 \u6771\u4eac \U0001F600";
  std::string many;
  for (int i = 0; i < 30; ++i) many += text + "\n";
  std::string first;
  for (const char* locale : {"LC_ALL=C", "LC_ALL=de_DE.UTF-8", "LC_ALL=tr_TR.ISO-8859-9"}) {
    const Desk desk;
    RunOptions options;
    options.environment = {locale};
    desk.write("t.txt", many);
    const Outcome run =
        desk.run("train --data t.txt --out m --steps 2 --lr 0.002" + std::string(kTiny), options);
    CAPTURE(run.text());
    REQUIRE(run.code == 0);
    CHECK(
        contains(run.out, "vocabulary 11"));  // n a \u00ef v e, space, dash, two of Tokyo, smiley, line break
    // Encoded and decoded again: the same text.
    CHECK(desk.run("sample --model m --tokens 0 --prompt", {text}, options).out == text + "\n");
    const std::string weights = desk.read("m/model.safetensors");
    if (first.empty()) first = weights;
    CHECK(weights == first);
  }
}

TEST_CASE("D-09: a byte-order mark is dropped with a note") {
  const Desk desk;
  desk.write("t.txt", "\xEF\xBB\xBF" + english_text());
  const Outcome run = desk.run("train --data t.txt --out m --steps 1" + std::string(kTiny));
  CHECK_MESSAGE(run.code == 0, run.text());
  CHECK(contains(run.out, "note: t.txt: a UTF-8 byte-order mark was dropped"));
  CHECK_FALSE(contains(desk.read("m/tokenizer.json"), "feff"));
}

TEST_CASE("D-09: invalid UTF-8 is refused with the byte, UTF-16 by its name") {
  const struct {
    std::string bytes;
    std::string_view reason;
  } cases[] = {
      {english_text() + "\xFF" + "abc", "invalid UTF-8 at byte 1500: 0xFF"},
      {english_text() + "\xE6\x9D", "invalid UTF-8 at byte 1500: 0xE6"},
      {std::string("\xFF\xFEh\0i\0"sv), "UTF-16 (little-endian)"},
      {std::string("\xFE\xFF\0h\0i"sv), "UTF-16 (big-endian)"},
  };
  for (const auto& c : cases) {
    const Desk desk;
    desk.write("t.txt", c.bytes);
    check_refused(desk, desk.run(kBlock64), c.reason);
  }
}

TEST_CASE("D-09: NUL is a character like any other") {
  const Desk desk;
  std::string text;
  for (int i = 0; i < 200; ++i) text += "ab\0c"sv;
  desk.write("t.txt", text);
  const Outcome run = desk.run("train --data t.txt --out m --steps 1" + std::string(kTiny));
  CHECK_MESSAGE(run.code == 0, run.text());
  CHECK(contains(run.out, "720 characters to train on, 80 for validation, vocabulary 4"));
  CHECK(contains(desk.run("info --model m").out, "vocabulary of 4: \\u{0000} a b c\n"));
}

TEST_CASE("T-12: what is not a readable file is refused with a reason") {
  const Desk desk;
  std::filesystem::create_directory(desk.path() / "folder");
  REQUIRE(::mkfifo((desk.path() / "pipe").c_str(), 0644) == 0);
  desk.write("t.txt", english_text());
  check_refused(desk, desk.run("train --out m --data folder"), "folder: is a directory, not a file");
  check_refused(desk, desk.run("train --out m --data /dev/zero"), "/dev/zero: is not a regular file");
  check_refused(desk, desk.run("train --out m --data pipe"), "pipe: is not a regular file");
  check_refused(desk, desk.run("train --out m --data missing.txt"), "missing.txt: no such file");
  std::filesystem::permissions(desk.path() / "t.txt", std::filesystem::perms::none);
  std::filesystem::permissions(desk.path(), std::filesystem::perms::all);
  RunOptions nobody;
  nobody.as_nobody = true;
  check_refused(desk, desk.run("train --out m --data t.txt", nobody),
                "t.txt: cannot be opened: Permission denied");
}

TEST_CASE("T-12: paths may hold blanks and any letters") {
  const Desk desk;
  const std::string data = "my t\u00e9xt \u6771.txt", out = "the m\u00f6del";
  desk.write(data, english_text());
  const Outcome run = desk.run("train --steps 1" + std::string(kTiny), {"--data", data, "--out", out});
  CHECK_MESSAGE(run.code == 0, run.text());
  CHECK(desk.has(out + "/model.safetensors"));
  CHECK(desk.run("eval", {"--data", data, "--model", out}).code == 0);
}

TEST_CASE("T-12: without a command, the commands are listed") {
  const Desk desk;
  const Outcome run = desk.run("");
  CHECK(run.code == 2);
  CHECK(run.out.empty());
  CHECK(contains(run.err, "a command is needed"));
  for (const char* name : {"train", "sample", "eval", "ngram", "gradcheck", "info"})
    CHECK(contains(run.err, name));
}

}  // namespace
}  // namespace minigpt::test
