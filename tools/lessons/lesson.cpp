#include "tools/lessons/lesson.h"

#include <cmath>
#include <filesystem>

#include "models/train_config.h"
#include "nn/files.h"
#include "tensor/error.h"
#include "tools/figures/heat_map.h"
#include "tools/lessons/text_layout.h"

namespace minigpt::lessons {
namespace {

constexpr int kColumns = 100;

// "weights = softmax(scores)" -> "weights-softmax-scores".
std::string file_name(std::string_view label) {
  std::string name;
  for (const char c : label) {
    const bool plain =
        (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '.';
    if (plain) name += c;
    if (!plain && !name.empty() && name.back() != '-') name += '-';
  }
  while (!name.empty() && name.back() == '-') name.pop_back();
  return name.empty() ? "figure" : name;
}

}  // namespace

Page::Page(PageOptions options) : seed(options.seed), options_(std::move(options)) {}

void Page::put(std::string_view text) {
  if (options_.capture) {
    options_.capture->append(text);
  } else {
    fmt::print("{}", text);
    std::fflush(stdout);  // a lesson that trains shows how far it is
  }
  after_blank_line_ = text.ends_with("\n\n");
}

void Page::set_apart(const std::string& text) { put((after_blank_line_ ? "" : "\n") + text + "\n\n"); }

void Page::heading(Text text) {
  const std::string title = pick(text);
  const std::string rule(static_cast<std::size_t>(text_width(title)), '-');
  set_apart(options_.colour ? "\x1b[1m" + title + "\x1b[0m" : title + "\n" + rule);
}

void Page::paragraph(std::string_view text) { set_apart(wrap(text, kColumns)); }

void Page::matrix(Text label, const Tensor& x) { matrix(std::string_view(pick(label)), x); }
void Page::value(Text label, double x) { value(std::string_view(pick(label)), x); }

void Page::matrix(std::string_view label, const Tensor& x) {
  put(fmt::format("{} {}\n{}\n", label, x.shape(), numbers(x, 2)));
}

void Page::value(std::string_view label, double x) {
  // Numbers that four decimals cannot show, in four significant digits.
  put(x != 0 && std::fabs(x) < 5e-5 ? fmt::format("{} = {:.4e}\n", label, x)
                                    : fmt::format("{} = {:.4f}\n", label, x));
}

void Page::heat_map(std::string_view label, const Tensor& weights, const std::vector<std::string>& rows,
                    const std::vector<std::string>& columns) {
  figures::HeatMap map;
  map.title = label;
  map.weights = weights;
  map.row_labels = rows;
  map.column_labels = columns;
  const std::string text =
      figures::heat_map_text(map, options_.colour ? figures::ColourMode::full : figures::ColourMode::none);
  if (weights.numel() <= 256)
    matrix(label, weights);  // larger ones would be abbreviated, and say less than the picture
  set_apart(text.substr(0, text.find_last_not_of('\n') + 1));
  if (!options_.figures.empty()) figure(file_name(label), figures::heat_map_svg(map));
}

void Page::figure(std::string_view name, const std::string& svg) {
  if (options_.figures.empty())
    return say({"(With --figures DIR, this is drawn as DIR/{}.svg.)",
                "（加上 --figures 目录，这里会画成 目录/{}.svg。）"},
               name);
  const std::filesystem::path folder(options_.figures), path = folder / (std::string(name) + ".svg");
  write_file_atomically(path, svg);
  line("{}{}", pick({"Figure: ", "图："}), path.string());
}

void Page::exercise(Text question, Text answer, double stated, double computed) {
  if (exercises_++ == 0) heading({"Exercises", "练习"});
  check(seed || std::fabs(stated - computed) <= 5e-5, "exercise",
        "the answer says {}, the lesson computes {}", stated, computed);
  put(wrap(fmt::format("{}. {}", exercises_, pick(question)), kColumns) + "\n");
  if (!options_.answers) return;
  std::string text = fmt::format("   {}{}", pick({"Answer: ", "答："}), pick(answer));
  // Another seed may give another answer.
  if (std::fabs(stated - computed) > 5e-5)
    text +=
        fmt::format(fmt::runtime(pick({" (with this seed: {:.4f})", "（用这个种子：{:.4f}）"})), computed);
  put(wrap(text, kColumns) + "\n");
}

const Lesson& find_lesson(std::string_view name) {
  std::vector<std::string> names;
  for (const Lesson& lesson : all_lessons()) {
    if (lesson.name == name) return lesson;
    names.push_back(lesson.name);
  }
  const std::string near = nearest_name(name, names);
  throw Error(fmt::format("there is no lesson '{}'{}", name,
                          near.empty() ? "; see minigpt lesson" : "; did you mean " + near + "?"));
}

}  // namespace minigpt::lessons
