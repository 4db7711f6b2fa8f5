#include "tools/lessons/lesson.h"

#include <charconv>
#include <cmath>
#include <filesystem>
#include <utility>

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

// Does an answer name this number, with as many decimals as it has?
bool names_number(std::string_view answer, double x) {
  for (int decimals = 0; decimals <= 4; ++decimals)
    if (const std::string text = fmt::format("{:.{}f}", x, decimals);
        std::fabs(std::stod(text) - x) <= 5e-5 && answer.find(text) != answer.npos)
      return true;
  return false;
}

}  // namespace

Page::Page(PageOptions options)
    : options_(std::move(options)), held_(!options_.model.empty() || options_.own_text) {}

void Page::release() {
  held_ = false;
  put(std::exchange(held_text_, {}));
}

void Page::put(std::string_view text) {
  if (text.empty()) return;
  if (held_) {
    held_text_ += text;
  } else if (options_.capture) {
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

void Page::heat_map(std::string_view name, std::string_view title, const Tensor& weights,
                    const std::vector<std::string>& rows, const std::vector<std::string>& columns) {
  figures::HeatMap map;
  map.title = title;
  map.weights = weights;
  map.row_labels = rows;
  map.column_labels = columns;
  prepare(map);
  const std::string text =
      figures::heat_map_text(map, options_.colour ? figures::ColourMode::full : figures::ColourMode::none);
  if (weights.numel() <= 256)
    matrix(title, weights);  // larger ones would be abbreviated, and say less than the picture
  set_apart(text.substr(0, text.find_last_not_of('\n') + 1));
  if (!options_.figures.empty()) figure(file_name(name), figures::heat_map_svg(map));
}

void Page::prepare(figures::HeatMap& map) const {
  if (!options_.chinese) return;
  map.chinese = true;
  map.row_axis = "查询";
  map.column_axis = "键";
}

void Page::figure(std::string_view name, const std::string& svg) {
  used_.figures = true;
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
  check(options_.seed || std::fabs(stated - computed) <= 5e-5, "exercise",
        "the answer says {}, the lesson computes {}", stated, computed);
  for (const char* text : {answer.en, answer.zh})
    check(names_number(text, stated), "exercise", "the answer '{}' does not name {}", text, stated);
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
  const std::span<const Lesson> lessons = all_lessons();
  if (!name.empty() && name.find_first_not_of("0123456789") == name.npos) {
    std::size_t number = 0;
    std::from_chars(name.data(), name.data() + name.size(), number);  // too large a one leaves 0
    if (number >= 1 && number <= lessons.size()) return lessons[number - 1];
    throw Error(fmt::format("there is no lesson {}; they are numbered from 1 to {}", name, lessons.size()));
  }
  std::vector<std::string> names;
  for (const Lesson& lesson : lessons) {
    if (lesson.name == name) return lesson;
    names.push_back(lesson.name);
  }
  const std::string near = nearest_name(name, names);
  throw Error(fmt::format("there is no lesson '{}'{}", name,
                          near.empty() ? "; see minigpt lesson" : "; did you mean " + near + "?"));
}

}  // namespace minigpt::lessons
