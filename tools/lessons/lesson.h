#pragma once
// What every lesson is made of: a page that explains, shows numbers and pictures, and asks.
//
// A lesson is a function that is read from top to bottom. It says something, computes it with the library's own
// types, and prints what came out. The mathematics stands in the lesson itself or in the library, never here.

#include <fmt/core.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/tensor.h"

namespace minigpt::lessons {

// The same sentences in both languages.
struct Text {
  const char* en;
  const char* zh;
};

struct PageOptions {
  std::optional<std::uint64_t> seed;  // in place of the lesson's own
  bool chinese = false;
  bool answers = false;   // print the answers to the exercises
  bool colour = false;    // the reader's terminal shows colours
  std::string figures;    // existing folder for SVG figures, "" for none
  std::string model;      // folder of a trained model, where a lesson would train a small one; "" for none
  std::string_view text;  // UTF-8, what small models learn from
  bool quick = false;     // small sizes and few steps: everything is shown, nothing is learnt (tests)
  std::string* capture = nullptr;  // receives the page in place of standard output (tests)
};

// What a lesson writes to. Plain paragraphs are wrapped at 100 columns.
class Page {
 public:
  explicit Page(PageOptions options = {});

  // --seed N, if it was given.
  std::optional<std::uint64_t> seed;
  // --seed N, or the lesson's own, with which the numbers are those of the book.
  std::uint64_t seed_or(std::uint64_t own) const { return seed.value_or(own); }
  bool chinese() const { return options_.chinese; }
  bool colour() const { return options_.colour; }
  const std::string& model() const { return options_.model; }
  std::string_view text() const { return options_.text; }
  bool quick() const { return options_.quick; }
  bool figures_wanted() const { return !options_.figures.empty(); }

  void heading(Text text);
  // A paragraph.
  void say(Text text) { paragraph(pick(text)); }
  // The same with values in place of {}: say({"{} heads", "{} 个头"}, heads).
  template <class... A>
  void say(Text text, const A&... values) {
    paragraph(fmt::vformat(pick(text), fmt::make_format_args(values...)));
  }
  // One line as it stands, for tables, code and progress.
  template <class... A>
  void line(fmt::format_string<A...> format, A&&... values) {
    put(fmt::format(format, std::forward<A>(values)...) + "\n");
  }
  // One line in both languages, for headings of tables.
  void line(Text text) { put(std::string(pick(text)) + "\n"); }

  // Label, shape and numbers:
  //   scores (2, 2)
  //     [[ 0.9544,  1.4950],
  //      [-0.1000,  0.0000]]
  // Four decimals, whole numbers as "2.", scientific notation only where four decimals would show nothing but zeros.
  void matrix(std::string_view label, const Tensor& x);
  void matrix(Text label, const Tensor& x);
  // "label = 0.9544".
  void value(std::string_view label, double x);
  void value(Text label, double x);
  // Who attends to whom: weights (queries, keys) with a label per row and column, as numbers and as a picture in the
  // terminal; and, where figures are wanted, as an SVG file named after the label. Throws Error if labels and shape do not fit.
  void heat_map(std::string_view label, const Tensor& weights, const std::vector<std::string>& rows,
                const std::vector<std::string>& columns);
  // Writes NAME.svg into the folder of figures; without one, a line says how to get it. Throws RunError if the file cannot be
  // written.
  void figure(std::string_view name, const std::string& svg);
  // A question to the reader; the answer is printed if answers are wanted. Its number is computed by the lesson: with the
  // lesson's own seed, Error is thrown if the stated number differs from it by more than 5e-5.
  void exercise(Text question, Text answer, double stated, double computed);

  int exercises() const { return exercises_; }

 private:
  const char* pick(Text text) const { return options_.chinese ? text.zh : text.en; }
  void paragraph(std::string_view text);
  void put(std::string_view text);
  // With one blank line before and after it.
  void set_apart(const std::string& text);

  PageOptions options_;
  int exercises_ = 0;
  bool after_blank_line_ = true;
};

struct Lesson {
  const char* name;  // of the command line: "causal-mask"
  Text title;        // one line
  void (*run)(Page& page);
};

// All lessons in the order in which they are to be read.
std::span<const Lesson> all_lessons();
// The lesson of that name. Throws Error with the nearest name if there is none.
const Lesson& find_lesson(std::string_view name);

}  // namespace minigpt::lessons
