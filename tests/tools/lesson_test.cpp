// minigpt lesson: the list, the options, and the page that lessons write to.

#include <algorithm>
#include <cmath>

#include "tests/tools/lesson_testing.h"
#include "tests/tools/run_command.h"
#include "tools/lessons/text_layout.h"

namespace minigpt::test {
namespace {

using lessons::numbers;
using lessons::wrap;

TEST_CASE("lesson: the list names every lesson once, with a line in both languages") {
  const Desk desk;
  const Outcome english = desk.run("lesson"), chinese = desk.run("lesson --lang zh");
  CHECK(english.code == 0);
  CHECK(chinese.code == 0);
  std::vector<std::string> names;
  for (const lessons::Lesson& lesson : lessons::all_lessons()) {
    CAPTURE(lesson.name);
    CHECK(contains(english.out, lesson.title.en));
    CHECK(contains(chinese.out, lesson.title.zh));
    CHECK(std::find(names.begin(), names.end(), lesson.name) == names.end());
    names.push_back(lesson.name);
  }
}

TEST_CASE("lesson: bad input is answered with one line, and exit code 2") {
  const Desk desk;
  const auto refuses = [&](std::string_view line, std::string_view reason) {
    check_refused(desk, line, reason);
  };
  refuses("lesson simple-atention", "there is no lesson 'simple-atention'; did you mean simple-attention?");
  refuses("lesson zzzzzzzzz", "there is no lesson 'zzzzzzzzz'; see minigpt lesson");
  refuses("lesson simple-attention --seed x", "--seed: 'x' is not a whole number");
  refuses("lesson simple-attention --lang zg", "--lang: 'zg' is not one of en | zh; did you mean zh?");
  desk.write("file", "");
  refuses("lesson simple-attention --figures file", "file: exists and is not a directory");
  refuses("lesson simple-attention --colour alway", "did you mean always?");
  refuses("lesson 99", "there is no lesson 99; they are numbered from 1 to ");
  refuses("lesson 0", "there is no lesson 0;");
  refuses("lesson 99999999999999999999999", "there is no lesson 99999999999999999999999;");
  // Before anything is explained, also where the lesson would only look at it later, or not at all.
  for (const char* lesson : {"head-patterns", "heat-map", "tensors"}) {
    refuses(std::string("lesson ") + lesson + " --model nosuch", "nosuch: no such folder");
    refuses(std::string("lesson ") + lesson + " --text nosuch", "nosuch: no such file");
  }
  CHECK(contains(desk.run("lesson gradcheck").out, "gradcheck passed"));  // not the command of that name
  refuses("lesson simple-attention simple-attention", "no argument 'simple-attention' for lesson");
}

TEST_CASE("lesson: a lesson can be called by its number in the list") {
  const Desk desk;
  const std::vector<std::string> list = lines_of(desk.run("lesson").out);
  const auto with_number = [&](std::string_view number) {
    for (const std::string& line : list)
      if (line.starts_with(std::string(number) + "  ")) return words_of(line)[1];
    return std::string();
  };
  const std::string name = with_number("  9");
  REQUIRE_FALSE(name.empty());
  CHECK(desk.run("lesson 9").out == desk.run("lesson " + name).out);
}

TEST_CASE("lesson: the seeds of its random numbers are named at the end") {
  const Desk desk;
  CHECK(contains(desk.run("lesson attention-classes").out,
                 "Random numbers: seed 123, 789; others with --seed N."));
  CHECK(contains(desk.run("lesson attention-classes --lang zh").out, "随机数：种子 123, 789"));
  CHECK_FALSE(contains(desk.run("lesson attention-classes --seed 7").out, "others with --seed"));
  CHECK_FALSE(contains(desk.run("lesson tensors").out, "Random numbers"));
}

TEST_CASE("lesson: a Chinese page has Chinese words around its heat maps") {
  for (const char* name : {"simple-attention", "causal-mask", "multi-head"}) {
    const std::string page = lesson_page(name, true);
    CHECK(contains(page, "行：查询，列：键"));
    CHECK_FALSE(contains(page, "rows: "));
  }
  CHECK(contains(lesson_page("causal-mask", true), ". 恰好是 0"));
  CHECK(contains(lesson_page("causal-mask"), ". is exactly 0"));
}

TEST_CASE("lesson: what is not a terminal gets no colours, unless asked for") {
  const Desk desk;
  CHECK_FALSE(contains(desk.run("lesson simple-attention").out, "\x1b["));
  CHECK(contains(desk.run("lesson simple-attention --colour always").out, "\x1b["));
}

TEST_CASE("lesson: --figures writes the heat map as SVG") {
  const Desk desk;
  const Outcome run = desk.run("lesson simple-attention --figures new/folder");
  CHECK_MESSAGE(run.code == 0, run.text());
  CHECK(contains(run.out, "new/folder/weights-softmax-scores.svg"));
  CHECK(desk.read("new/folder/weights-softmax-scores.svg").starts_with("<svg"));
}

TEST_CASE("lesson: a wrong answer in an exercise is found, unless another seed was asked for") {
  std::string text;
  lessons::PageOptions options;
  options.capture = &text;
  CHECK_THROWS_AS(lessons::Page(options).exercise({"?", "？"}, {"1", "1"}, 1.0, 1.0001), Error);
  CHECK_THROWS_AS(lessons::Page(options).exercise({"?", "？"}, {"1", "很多"}, 1.0, 1.0),
                  Error);  // names no number
  CHECK_NOTHROW(lessons::Page(options).exercise({"?", "？"}, {"1", "1"}, 1.0, 1.00004));
  options.seed = 5;
  CHECK_NOTHROW(lessons::Page(options).exercise({"?", "？"}, {"1", "1"}, 1.0, 2.0));
}

TEST_CASE("lesson: text is wrapped at blanks, and Chinese anywhere but before closing punctuation") {
  CHECK(wrap("one two three", 7) == "one two\nthree");
  CHECK(wrap("a\n\nb", 9) == "a\n\nb");
  CHECK(wrap("extraordinary", 5) == "extraordinary");
  CHECK(wrap("注意力权重", 4) == "注意\n力权\n重");
  CHECK(wrap("注意力，权重", 6) == "注意\n力，权\n重");
  CHECK(wrap("看softmax函数", 9) == "看softmax\n函数");
}

TEST_CASE("lesson: numbers have four decimals, and other forms only where these would mislead") {
  CHECK(numbers(Tensor::from<float>({1.5f, -0.25f}, {2}), 2) == "  [ 1.5000, -0.2500]");
  CHECK(numbers(Tensor::from<float>({2, 0, 2, 0}, {2, 2}), 2) == "  [[2., 0.],\n   [2., 0.]]");
  CHECK(numbers(Tensor::from<float>({1.5f, 1e-9f}, {2}), 0) == "[1.5000, 0.0000]");
  CHECK(numbers(Tensor::from<float>({2e-6f, 0}, {2}), 0) == "[2.0000e-06,          0]");
  CHECK(numbers(Tensor::from<float>({0.5f, -INFINITY, NAN}, {3}), 0) == "[0.5000,   -inf,    nan]");
  CHECK(numbers(Tensor::from<std::int32_t>({3, 10}, {2}), 0) == "[ 3, 10]");
}

}  // namespace
}  // namespace minigpt::test
