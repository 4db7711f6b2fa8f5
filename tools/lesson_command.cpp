// minigpt lesson: the ideas of this project, one at a time, as running code.

#include <fmt/ranges.h>
#include <unistd.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "models/text_file.h"
#include "nn/files.h"
#include "tools/arguments.h"
#include "tools/builtin_text.h"
#include "tools/commands.h"
#include "tools/inputs.h"
#include "tools/lessons/lesson.h"
#include "tools/lessons/text_layout.h"
#include "tools/outputs.h"

namespace minigpt::tools {
namespace {

struct Options {
  std::string name, language = "en", colour = "auto", figures, model, text;
  bool answers = false, json = false;
  TextOption seed, threads;
};

// One of a few words. Throws Error with the nearest one otherwise.
void check_choice(const std::string& option, const std::string& text,
                  const std::vector<std::string>& choices) {
  if (std::find(choices.begin(), choices.end(), text) != choices.end()) return;
  const std::string near = nearest_name(text, choices);
  throw Error(fmt::format("{}: '{}' is not one of {}{}", option, text, fmt::join(choices, " | "),
                          near.empty() ? "" : "; did you mean " + near + "?"));
}

// https://no-color.org: any value that is not empty means no colour.
bool colour_wanted(const std::string& mode) {
  const char* no_color = std::getenv("NO_COLOR");
  return mode == "always" || (mode == "auto" && ::isatty(STDOUT_FILENO) && !(no_color && *no_color));
}

void list(bool chinese) {
  std::size_t width = 0;
  for (const lessons::Lesson& lesson : lessons::all_lessons())
    width = std::max(width, std::string_view(lesson.name).size());
  int number = 0;
  fmt::print("{}\n\n",
             chinese ? "课程，按阅读顺序排列（minigpt lesson NAME --lang zh 运行一课）："
                     : "Lessons in reading order (minigpt lesson NAME runs one; --lang zh: in Chinese):");
  for (const lessons::Lesson& lesson : lessons::all_lessons())
    fmt::print("{:>3}  {:<{}}  {}\n", ++number, lesson.name, width,
               chinese ? lesson.title.zh : lesson.title.en);
}

void list_json() {
  for (const lessons::Lesson& lesson : lessons::all_lessons()) {
    nlohmann::ordered_json line;
    line["name"] = lesson.name;
    line["en"] = lesson.title.en;
    line["zh"] = lesson.title.zh;
    fmt::print("{}\n", line.dump());
  }
}

int run(const Options& o) {
  check_choice("--lang", o.language, {"en", "zh"});
  check_choice("--colour", o.colour, {"auto", "always", "never"});
  lessons::PageOptions options;
  options.chinese = o.language == "zh";
  options.answers = o.answers;
  options.colour = colour_wanted(o.colour);
  options.figures = o.figures;
  options.model = o.model;
  if (o.seed.given()) options.seed = seed_or_fresh(o.seed);
  apply_threads(o.threads);
  check(!o.json || o.name.empty(), "lesson", "--json is for the list of lessons, without a name");
  if (o.name.empty()) {
    for (const auto& [given, option] : {std::pair{o.answers, "--answers"},
                                        {o.seed.given(), "--seed"},
                                        {!o.figures.empty(), "--figures"},
                                        {!o.model.empty(), "--model"},
                                        {!o.text.empty(), "--text"},
                                        {o.threads.given(), "--threads"}})
      check(!given, "lesson", "{} needs the name of a lesson; minigpt lesson lists them", option);
    work_begins();
    if (o.json)
      list_json();
    else
      list(options.chinese);
    return 0;
  }
  const lessons::Lesson& lesson = lessons::find_lesson(o.name);
  if (!o.figures.empty()) check_output_folder(o.figures);
  // Refused now, also by a lesson that makes no use of them.
  Remarks remarks;
  if (!o.model.empty()) read_model(o.model, Weights::finite, remarks);
  if (!o.text.empty()) read_text(o.text, remarks);
  const std::string own_text = o.text.empty() ? "" : read_file(o.text, "lesson");
  work_begins();
  if (!o.figures.empty()) check_writable_directory(o.figures);  // before the lesson computes for a minute
  options.text = o.text.empty() ? builtin_text() : std::string_view(own_text);
  options.own_text = !o.text.empty();
  lessons::Page page(options);
  lesson.run(page);
  page.release();
  if (!page.own_seeds().empty())
    page.say({"Random numbers: seed {}; others with --seed N.", "随机数：种子 {}；用 --seed N 可以换。"},
             fmt::format("{}", fmt::join(page.own_seeds(), ", ")));
  if (page.exercises() > 0 && !o.answers)
    page.say({"The answers: minigpt lesson {} --answers", "答案：minigpt lesson {} --lang zh --answers"},
             lesson.name);
  const lessons::Page::Used& used = page.used();
  for (const auto& [idle, option] : {std::pair{o.seed.given() && !used.seed, "--seed"},
                                     {!o.model.empty() && !used.model, "--model"},
                                     {!o.text.empty() && !used.text, "--text"},
                                     {!o.figures.empty() && !used.figures, "--figures"}})
    if (idle) remarks.note("{} has no effect on this lesson", option);
  remarks.print();
  return 0;
}

}  // namespace

Command add_lesson(CLI::App& app) {
  auto o = std::make_shared<Options>();
  app.description(
      "Explains one idea with its numbers, from a scalar's gradient to a trained GPT. Without a name, lists "
      "the lessons in "
      "reading order.");
  app.add_option("name", o->name, "the lesson, or its number in the list")->type_name("NAME");
  add_number_option(app, o->seed, "--seed", "INT", "for random numbers, in place of the lesson's own", "",
                    between(0, kSeed));
  app.add_option("--lang", o->language, "en or zh")->type_name("NAME")->capture_default_str();
  app.add_flag("--answers", o->answers, "print the answers to the exercises");
  app.add_flag("--json", o->json, "print the list of lessons, one JSON object a line: name, en, zh");
  app.add_option("--figures", o->figures, "write figures as SVG files into this folder")->type_name("DIR");
  app.add_option("--model", o->model,
                 "a trained model, for lessons that look into one; else they train a small one")
      ->type_name("DIR");
  app.add_option("--text", o->text,
                 "what small models learn from, and are looked at on [minigpt's source code]")
      ->type_name("FILE");
  app.add_option("--colour,--color", o->colour, "auto, always or never")
      ->type_name("NAME")
      ->capture_default_str();
  add_threads_option(app, o->threads);
  return [o] { return run(*o); };
}

}  // namespace minigpt::tools
