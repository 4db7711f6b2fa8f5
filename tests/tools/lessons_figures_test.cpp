// The lessons that measure and look into a trained model, in small: everything is shown, on two steps of training.

#include <filesystem>

#include "tests/tools/lesson_testing.h"
#include "tests/tools/run_command.h"

namespace minigpt::test {
namespace {

// The page of a quick lesson.
std::string quick_page(std::string_view name, bool chinese = false, const std::string& figures = "",
                       const std::string& model = "") {
  static const std::string words = english_text();
  std::string text;
  lessons::PageOptions options;
  options.capture = &text;
  options.answers = true;
  options.chinese = chinese;
  options.quick = true;
  options.text = words;
  options.figures = figures;
  options.model = model;
  lessons::Page page(options);
  lessons::find_lesson(name).run(page);
  CHECK_MESSAGE(page.exercises() >= 2, name << " has " << page.exercises() << " exercises");
  return text;
}

TEST_CASE("S12: lesson head-count shows that heads add no parameters, and four runs of one budget") {
  const std::string page = quick_page("head-count");
  for (const char* row :
       {"     1             64                    16640", "     2             32                    16640",
        "     4             16                    16640", "     8              8                    16640"})
    CHECK_MESSAGE(contains(page, row), row);
  CHECK(contains(page, "heads: 8\n  step     1 of 2"));
  CHECK(contains(quick_page("head-count", true), "16640"));
}

TEST_CASE("S19: lesson scaling shows variances for d = 1 .. 512, with and without") {
  const std::string page = quick_page("scaling");
  for (const char* d : {"\n     1 ", "\n   512 "}) CHECK(contains(page, d));
  CHECK(contains(quick_page("scaling", true), "0.7311"));
}

TEST_CASE("S20: lesson attention-cost measures, fits an exponent and draws") {
  const Desk desk;
  const std::string folder = (desk.path() / "figures").string();
  std::filesystem::create_directory(folder);
  const std::string page = quick_page("attention-cost", false, folder);
  CHECK(contains(page, "\n    256 "));
  CHECK(contains(page, "plain  time n^"));
  CHECK(contains(desk.read("figures/attention-cost-time.svg"), "fit: n^"));
  CHECK(contains(desk.read("figures/attention-cost-bytes.svg"), "<title>plain: 256, "));
  CHECK(contains(quick_page("attention-cost", true), "67.1089"));
}

TEST_CASE("S18: lesson heat-map draws every head of a trained model, here or of --model") {
  const Desk desk;
  const std::string folder = (desk.path() / "figures").string();
  std::filesystem::create_directory(folder);
  const std::string page = quick_page("heat-map", false, folder);
  CHECK(contains(page, "looks furthest back"));
  CHECK(contains(desk.read("figures/heat-map-0.1.svg"), "<title>query 3 "));
  const std::string other = quick_page("heat-map", true, "", (trained_desk().path() / "model").string());
  CHECK(contains(other, "1 层"));
}

TEST_CASE("S21 .. S24: lesson head-patterns scores every head, beside uniform attention, and its ablation") {
  const std::string page = quick_page("head-patterns");
  for (const char* part : {"\n   0.0 ", "\n   1.1 ", "\n  even ", "layer 1: ", "loss+"})
    CHECK_MESSAGE(contains(page, part), part);
  const std::string other = quick_page("head-patterns", true, "", (trained_desk().path() / "model").string());
  CHECK(contains(other, "\n   0.1 "));
}

TEST_CASE("lessons on a trained model: a text without enough characters is one clear error") {
  std::string text;
  lessons::PageOptions options;
  options.capture = &text;
  options.text = "猫猫猫";
  options.model = (trained_desk().path() / "model").string();
  lessons::Page page(options);
  CHECK_THROWS_WITH_AS(
      lessons::find_lesson("heat-map").run(page),
      "[lesson] the model knows 0 characters of the last tenth of the text, and needs 17: --text FILE "
      "chooses another one",
      Error);
}

}  // namespace
}  // namespace minigpt::test
