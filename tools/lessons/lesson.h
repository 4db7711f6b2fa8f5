#pragma once
// What every lesson is made of: a page that explains, shows numbers and pictures, and asks.
//
// A lesson is a function that is read from top to bottom. It says something, computes it with the library's own
// types, and prints what came out. The mathematics stands in the lesson itself or in the library, never here.

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/tensor.h"

namespace minigpt::figures {
struct HeatMap;
}

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
  bool own_text = false;  // the reader's
  bool quick = false;     // small sizes and few steps: everything is shown, nothing is learnt (tests)
  std::string* capture = nullptr;  // receives the page in place of standard output (tests)
};

// What a lesson writes to. Plain paragraphs are wrapped at 100 columns.
class Page {
 public:
  explicit Page(PageOptions options = {});

  // --seed N, if it was given.
  std::optional<std::uint64_t> seed() const {
    used_.seed = true;
    return options_.seed;
  }
  // --seed N, or the lesson's own, with which the numbers are those of the book.
  std::uint64_t seed_or(std::uint64_t own) const {
    if (!options_.seed && std::find(own_seeds_.begin(), own_seeds_.end(), own) == own_seeds_.end())
      own_seeds_.push_back(own);
    return seed().value_or(own);
  }
  // Those of the lesson's own that it has used, in their order.
  const std::vector<std::uint64_t>& own_seeds() const { return own_seeds_; }
  bool chinese() const { return options_.chinese; }
  bool colour() const { return options_.colour; }
  const std::string& model() const {
    used_.model = true;
    return options_.model;
  }
  std::string_view text() const {
    used_.text = true;
    return options_.text;
  }
  bool quick() const { return options_.quick; }
  bool figures_wanted() const {
    used_.figures = true;
    return !options_.figures.empty();
  }

  // What the lesson has made use of so far: the others had no effect.
  struct Used {
    bool seed = false, model = false, text = false, figures = false;
  };
  const Used& used() const { return used_; }

  // With a model or a text of the reader's, nothing is printed until the lesson has accepted it, so that a bad one is refused
  // with one line. To be called then, and at the end.
  void release();

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
                const std::vector<std::string>& columns) {
    heat_map(label, label, weights, rows, columns);
  }
  // With a title in the page's language; the file is named after the English one.
  void heat_map(Text label, const Tensor& weights, const std::vector<std::string>& rows,
                const std::vector<std::string>& columns) {
    heat_map(label.en, pick(label), weights, rows, columns);
  }
  // The page's language for a heat map that is drawn in another way.
  void prepare(figures::HeatMap& map) const;
  // Writes NAME.svg into the folder of figures; without one, a line says how to get it. Throws RunError if the file cannot be
  // written.
  void figure(std::string_view name, const std::string& svg);
  // A question to the reader; the answer is printed if answers are wanted. Its number is computed by the lesson: with the
  // lesson's own seed, Error is thrown if the stated number differs from it by more than 5e-5, or if the answer does not name it.
  void exercise(Text question, Text answer, double stated, double computed);

  // For labels of figures.
  const char* pick(Text text) const { return options_.chinese ? text.zh : text.en; }

  int exercises() const { return exercises_; }

 private:
  void heat_map(std::string_view name, std::string_view title, const Tensor& weights,
                const std::vector<std::string>& rows, const std::vector<std::string>& columns);
  void paragraph(std::string_view text);
  void put(std::string_view text);
  // With one blank line before and after it.
  void set_apart(const std::string& text);

  PageOptions options_;
  mutable Used used_;
  mutable std::vector<std::uint64_t> own_seeds_;
  bool held_;
  std::string held_text_;
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
