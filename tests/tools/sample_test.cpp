// minigpt sample: prompts, lengths, temperatures, seeds.

#include <set>

#include "models/utf8.h"
#include "tests/tools/run_command.h"

namespace minigpt::test {
namespace {

// A desk with the model "m", trained for a few steps on `text`.
struct Trained : Desk {
  explicit Trained(const std::string& text) {
    write("t.txt", text);
    const Outcome run = Desk::run("train --data t.txt --out m --steps 3 --lr 0.01" + std::string(kTiny));
    REQUIRE_MESSAGE(run.code == 0, run.text());
  }
};

std::string repeat(std::string_view text, int times) {
  std::string result;
  for (int i = 0; i < times; ++i) result += text;
  return result;
}

Outcome sample(std::string_view options) {
  return trained_desk().run("sample --model model " + std::string(options));
}

TEST_CASE("D-04: a character that the model never saw is named, with its code point and position") {
  const Trained desk(repeat("abcdefghijklmnop qrstuvwxyz\n", 20));
  const struct {
    std::string prompt;
    std::string_view reason;
  } cases[] = {
      {"A", "prompt: character 'A' (U+0041) at position 0 "},
      {"abc\u00e9", "prompt: character '\u00e9' (U+00E9) at position 3 "},
      {"a \U0001F600", "prompt: character '\U0001F600' (U+1F600) at position 2 "},
      {"\t", "prompt: character '\\t' (U+0009) at position 0 "},
      {"a\\n", "prompt: character '\\\\' (U+005C) at position 1 "},
  };
  for (const auto& c : cases) {
    const Outcome run = desk.run("sample --model m --prompt", {c.prompt});
    CAPTURE(run.text());
    CHECK(run.code == 2);
    CHECK(run.out.empty());
    CHECK(lines_of(run.err).size() == 1);
    CHECK(contains(run.err, c.reason));
    CHECK(contains(run.err, "`minigpt info --model DIR` lists the vocabulary"));
  }
}

TEST_CASE("D-05: without a prompt, the start comes from the model's own vocabulary and is named") {
  const Trained desk(repeat("abc", 200));  // neither a blank nor a line break
  const Outcome run = desk.run("sample --model m --tokens 20 --seed 1");
  CAPTURE(run.text());
  CHECK(run.code == 0);
  CHECK(contains(run.err, "starting from a\n"));
  CHECK(run.out.find_first_not_of("abc\n") == run.out.npos);
  CHECK(run.out.size() == 21);  // the start itself is not printed; a line break ends the text
}

TEST_CASE("D-10: a prompt typed, in a file, and from standard input gives the same text") {
  const Trained desk(repeat("sch\u00f6n ", 60));
  desk.write("prompt.txt", "\u00f6");
  const std::string common = "sample --model m --seed 3 --tokens 30 ";
  const Outcome typed = desk.run(common + "--prompt", {"\u00f6"});
  RunOptions input;
  input.input = "\u00f6";
  const Outcome file = desk.run(common + "--prompt-file prompt.txt"),
                piped = desk.run(common + "--prompt-file -", input);
  CAPTURE(typed.text());
  CHECK(typed.code == 0);
  CHECK(typed.out.starts_with("\u00f6"));
  CHECK(file.out == typed.out);
  CHECK(piped.out == typed.out);
  CHECK(desk.run("sample --model m --prompt a --prompt-file prompt.txt").code == 2);
  CHECK(desk.run("sample --model m --prompt-file missing.txt").code == 2);
}

TEST_CASE("D-12: invisible characters are listed by their code points, and the listing can be read back") {
  const Trained desk(repeat("a\u200Bb\u0007c\u00A0d\te \u00e9", 40));
  const std::string out = desk.run("info --model m").out;
  const std::string start = "vocabulary of 11: ";
  const auto at = out.find(start);
  REQUIRE_MESSAGE(at != out.npos, out);
  const std::string list = lines_of(out.substr(at + start.size()))[0];
  CHECK(list == "\\u{0007} \\t \\u{0020} a b c d e \\u{00A0} \u00e9(U+00E9) \\u{200B}");
  std::u32string read_back;
  for (const std::string& entry : words_of(list)) read_back += unescape(entry.substr(0, entry.find('(')));
  CHECK(read_back == U"\u0007\t abcde\u00A0\u00e9\u200B");
}

TEST_CASE("S-01: 0 characters print the prompt, more than a context slide the window") {
  CHECK(sample("--prompt The --tokens 0").out == "The\n");
  for (const int count : {1, 15, 16, 17, 500}) {
    const Outcome run = sample("--prompt a --seed 5 --tokens " + std::to_string(count));
    CHECK_MESSAGE(run.code == 0, run.text());
    CHECK(run.out.size() == static_cast<std::size_t>(count) + 2);
    CHECK_FALSE(contains(run.err, "note"));
  }
  // A shorter sample is the beginning of a longer one.
  const std::string longer = sample("--prompt a --seed 5 --tokens 40").out;
  const std::string shorter = sample("--prompt a --seed 5 --tokens 17").out;
  CHECK(longer.starts_with(shorter.substr(0, 18)));
}

TEST_CASE("S-01: a prompt longer than the context is printed whole and cropped with a note") {
  const std::string text = english_text().substr(0, 400);
  for (const std::size_t length : {15, 16, 17, 400}) {
    const std::string prompt = text.substr(0, length);
    const Outcome run = trained_desk().run("sample --model model --seed 1 --tokens 2 --prompt", {prompt});
    CAPTURE(run.text());
    CHECK(run.code == 0);
    CHECK(run.out.starts_with(prompt));
    const std::string note =
        "note: the model sees the last 16 of " + std::to_string(length) + " prompt characters";
    CHECK(contains(run.err, note) == (length > 16));
  }
  // What lies before the window changes nothing.
  const std::string window = text.substr(100, 16);
  const auto continued = [&](const std::string& prompt) {
    return trained_desk()
        .run("sample --model model --seed 2 --tokens 9 --prompt", {prompt})
        .out.substr(prompt.size());
  };
  CHECK(continued(window) == continued("dog" + window));
}

TEST_CASE("S-02: temperature 0 takes the likeliest character; tiny ones do the same") {
  const std::string greedy = sample("--prompt The --tokens 30 --seed 1 --temperature 0").out;
  for (const char* other : {"--seed 2 --temperature 0", "--seed 3 --temperature -0.0",
                            "--seed 4 --temperature 1e-30", "--seed 5 --temperature 1e-8"})
    CHECK(sample("--prompt The --tokens 30 " + std::string(other)).out == greedy);
  CHECK(sample("--prompt The --tokens 30 --seed 1 --temperature 100").code == 0);
  for (const char* bad : {"inf", "-1", "nan", "warm", ""}) {
    const Outcome run = trained_desk().run("sample --model model", {std::string("--temperature=") + bad});
    CAPTURE(run.text());
    CHECK(run.code == 2);
    CHECK(run.out.empty());
    CHECK(contains(run.err, "--temperature"));
  }
  CHECK(contains(sample("--temperature -1").err, "--temperature: -1 is out of range (0 to 1000000000)"));
}

TEST_CASE("S-06: one seed gives one text, several samples differ, and a seed that was not given is printed") {
  const std::string first = sample("--seed 7 --tokens 60").out;
  CHECK(sample("--seed 7 --tokens 60").out == first);
  CHECK(sample("--seed 8 --tokens 60").out != first);
  CHECK(sample("--seed 0 --tokens 5").code == 0);
  for (const char* bad : {"-1", "18446744073709551616", "1.5"})
    CHECK(contains(sample("--seed " + std::string(bad)).err, "(0 to 9007199254740992)"));

  const std::string two = sample("--seed 7 --tokens 60 --samples 2").out;
  const std::string one = "--- sample 1 ---\n", other = "\n--- sample 2 ---\n";
  REQUIRE(two.starts_with(one));
  const auto cut = two.find(other);
  REQUIRE(cut != two.npos);
  CHECK(two.substr(one.size(), cut - one.size()) != two.substr(cut + other.size()));

  std::set<std::string> seeds;
  for (int i = 0; i < 2; ++i) {
    const Outcome run = sample("--tokens 20");
    REQUIRE(run.err.starts_with("seed "));
    const std::string seed = words_of(run.err)[1];
    seeds.insert(seed);
    CHECK(sample("--tokens 20 --seed " + seed.substr(0, seed.find(','))).out == run.out);
  }
  CHECK(seeds.size() == 2);
}

// The texts of several samples, without their headings.
std::vector<std::string> split_samples(const std::string& out) {
  std::vector<std::string> texts;
  for (std::size_t at = 0, number = 1; at != out.npos; ++number) {
    const std::string heading = "--- sample " + std::to_string(number) + " ---\n";
    const auto begin = out.find(heading, at);
    REQUIRE(begin != out.npos);
    at = out.find("\n--- sample " + std::to_string(number + 1) + " ---\n", begin);
    texts.push_back(out.substr(begin + heading.size(), at - begin - heading.size()));
  }
  return texts;
}

TEST_CASE("sample: number j of several texts is what seed + j gives alone, in the order of the prompts") {
  const Desk& desk = trained_desk();
  const std::vector<std::string> prompts = {"The", "a", "one of the"};
  for (const std::string options :
       {"--tokens 60", "--tokens 60 --window chunk", "--tokens 20 --dtype bf16", "--tokens 60 --stop e"}) {
    CAPTURE(options);
    std::string words = "sample --model model --seed 7 --samples 4 " + options;
    const Outcome run =
        desk.run(words, {"--prompt", prompts[0], "--prompt", prompts[1], "--prompt", prompts[2]});
    CAPTURE(run.text());
    const std::vector<std::string> texts = split_samples(run.out);
    REQUIRE(texts.size() == 12);  // more than are written together
    for (std::size_t j = 0; j < texts.size(); ++j)
      CHECK(desk.run("sample --model model " + options + " --seed " + std::to_string(7 + j) + " --prompt",
                     {prompts[j / 4]})
                .out == texts[j]);
  }
}

TEST_CASE("sample: a file of prompts has one a line") {
  const Desk& desk = trained_desk();
  RunOptions input;
  input.input = "The\none\n";
  const Outcome piped = desk.run("sample --model model --seed 3 --tokens 9 --prompts-file -", input);
  CHECK(piped.out == desk.run("sample --model model --seed 3 --tokens 9 --prompt The --prompt one").out);
  CHECK(split_samples(piped.out)[1].starts_with("one"));
  CHECK(contains(desk.run("sample --model model --prompts-file -", RunOptions{}).err, "holds no prompt"));
  CHECK(contains(desk.run("sample --model model --prompts-file - --prompt a", input).err,
                 "exclude each other"));
}

TEST_CASE("sample: --window chunk differs only when the context is full; other words are refused") {
  const std::string exact = sample("--prompt a --seed 5 --tokens 100").out;
  const std::string chunk = sample("--prompt a --seed 5 --tokens 100 --window chunk").out;
  CHECK(chunk == sample("--prompt a --seed 5 --tokens 100 --window chunk").out);
  CHECK(chunk.substr(0, 17) == exact.substr(0, 17));
  CHECK(chunk != exact);
  CHECK(contains(sample("--window half").err, "--window must be exact or chunk, got 'half'"));
  CHECK(contains(sample("--dtype f16").err, "--dtype must be f32 or bf16, got 'f16'"));
}

TEST_CASE("sample: --stop ends the text before the words that it names") {
  const std::string whole = sample("--prompt The --seed 4 --tokens 200").out;
  const std::string stop = whole.substr(60, 2);
  const std::string text = whole.substr(0, whole.find(stop, 3)) + "\n";
  CHECK(trained_desk().run("sample --model model --prompt The --seed 4 --tokens 200 --stop", {stop}).out ==
        text);
}

TEST_CASE("sample: what is wrong with a prompt of a file is said with the file and the line") {
  const Desk desk;
  desk.copy_from(trained_desk(), "model");
  desk.write("one.txt", "the ~");
  desk.write("many.txt", "the\nthe ~\n");
  desk.write("bytes.txt", "the\n\nth\xFF\n");
  check_refused(desk, "sample --model model --prompt-file one.txt", "one.txt: character '~'");
  check_refused(desk, "sample --model model --prompts-file many.txt", "many.txt, line 2: character '~'");
  check_refused(desk, "sample --model model --prompts-file bytes.txt", "bytes.txt, line 3: invalid UTF-8");
  RunOptions input;
  input.input = "the\n~\n";
  CHECK(contains(desk.run("sample --model model --prompts-file -", input).err, "standard input, line 2: "));
}

}  // namespace
}  // namespace minigpt::test
