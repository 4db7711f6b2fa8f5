// The lessons that train a model of their own, in small.

#include "tests/tools/lesson_testing.h"
#include "tests/tools/run_command.h"
#include "tools/lessons/word_model.h"

namespace minigpt::test {
namespace {

// The page of a quick lesson.
std::string quick_page(std::string_view name, bool chinese,
                       std::optional<std::uint64_t> seed = std::nullopt) {
  static const std::string words = english_text();
  std::string text;
  lessons::PageOptions options;
  options.text = words;
  options.capture = &text;
  options.answers = true;
  options.chinese = chinese;
  options.quick = true;
  options.seed = seed;
  lessons::Page page(options);
  lessons::find_lesson(name).run(page);
  CHECK_MESSAGE(page.exercises() >= 2, name << " has " << page.exercises() << " exercises");
  return text;
}

// The number that follows `label` on a page.
double number_after(const std::string& page, const std::string& label) {
  const std::size_t at = page.find(label);
  REQUIRE_MESSAGE(at != std::string::npos, label);
  return std::stod(page.substr(at + label.size()));
}

TEST_CASE("S17: lesson encoder-decoder writes words backwards that were in no batch, from any seed") {
  // Shorter words of fewer letters, and a third of the steps.
  for (const std::uint64_t seed : {1, 2, 3})
    CHECK(number_after(quick_page("encoder-decoder", false, seed), "exact match: ") > 95);
  const std::string chinese = quick_page("encoder-decoder", true);
  CHECK(number_after(chinese, "完全正确: ") > 95);
  CHECK(chinese.find("3.3673") != std::string::npos);
}

TEST_CASE("lesson train-gpt: the loss falls, is compared with counting, and the model writes") {
  const std::string page = quick_page("train-gpt", false);
  // Rows of the table: step, loss of the batch, held-out loss.
  const double first = number_after(page, "\n       1   "), last = number_after(page, "\n      24   ");
  CHECK(last < first - 0.2);
  for (const char* part : {"6-gram", "  | ", "2.1640", "110592"})
    CHECK_MESSAGE(page.find(part) != std::string::npos, part);
  CHECK(quick_page("train-gpt", true).find("4.4817") != std::string::npos);
}

TEST_CASE("the sentences of what-it-means are those of the text, and their pairs are kept from training") {
  const auto line = [](const lessons::Sentence& s) {
    std::string out;
    for (std::size_t t = 0; t < s.words.size(); ++t)
      out += (t ? " " : "") + s.words[t] + (s.answers[t].empty() ? "" : "[" + s.answers[t] + "]");
    return out;
  };
  CHECK(line(lessons::cat_sentence("comfortable")) ==
        "The cat sat on the mat because it[mat] was comfortable[mat] .[cat]");
  CHECK(line(lessons::cat_sentence("tired")) ==
        "The cat sat on the mat because it[cat] was tired[cat] .[cat]");
  CHECK(line(lessons::mary_sentence()) ==
        "Mary had a little lamb whose[lamb] fleece was white as snow[fleece] .[Mary]");
  const auto together = [](const lessons::Sentence& s, const char* a, const char* b) {
    const auto end = static_cast<std::int64_t>(s.words.size());
    return lessons::place_of(s, a) < end && lessons::place_of(s, b) < end;
  };
  Generator rng(1);
  int cats = 0, kept = 0;
  for (const lessons::Sentence& s : lessons::draw_sentences(2000, true, rng)) {
    CHECK_FALSE(together(s, "cat", "mat"));
    CHECK_FALSE(together(s, "Mary", "lamb"));
    cats += lessons::place_of(s, "cat") < static_cast<std::int64_t>(s.words.size()) ? 1 : 0;
  }
  CHECK(cats > 50);
  for (const lessons::Sentence& s : lessons::draw_sentences(2000, false, rng))
    kept += together(s, "cat", "mat") || together(s, "Mary", "lamb") ? 1 : 0;
  CHECK(kept > 20);
}

TEST_CASE("S25, S26: lesson what-it-means: two-way attention resolves \"it\", causal attention has to wait") {
  const std::string page = quick_page("what-it-means", false);
  // The table of right answers: both ways, causal.
  CHECK(number_after(page, "\n  it      ") > 95);
  CHECK(number_after(page, "\n  snow    ") > 95);
  for (const char* answer : {"it was comfortable  both ways: it = mat ", "comfortable = mat\n",
                             "it was tired        both ways: it = cat ", "tired = cat\n"})
    CHECK_MESSAGE(page.find(answer) != std::string::npos, answer);
  for (const char* picture : {"row of 'it' (10, 11)", "row of 'snow' (10, 12)", "cat both ways (11, 11)",
                              "cat causal (11, 11)", "Mary causal (12, 12)", "'it' on 'was' = 0.0000"})
    CHECK_MESSAGE(page.find(picture) != std::string::npos, picture);
  CHECK(number_after(quick_page("what-it-means", true, 4), "\n  it      ") > 95);
}

}  // namespace
}  // namespace minigpt::test
