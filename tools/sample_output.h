#pragma once
// What becomes of generated tokens: stop texts, and several texts on one output.

#include <string>
#include <string_view>
#include <vector>

namespace minigpt::tools {

// Holds back what may be the beginning of a stop text. An empty stop text stops nothing.
class StopFilter {
 public:
  explicit StopFilter(std::string stop) : stop_(std::move(stop)) {}

  // Takes what comes next and returns what can be printed. Sets stopped() once the stop text has been completed;
  // neither it nor what follows is printed.
  std::string add(std::string_view text);
  // What was held back, at the end of the text.
  std::string rest() { return std::move(waiting_); }
  bool stopped() const { return stopped_; }

 private:
  std::string stop_, waiting_;
  bool stopped_ = false;
};

// Texts that grow side by side, printed to standard output one after the other: the first unfinished one as it grows,
// each other one when its turn comes. Throws RunError if it cannot be written.
class TextsInOrder {
 public:
  explicit TextsInOrder(std::size_t count) : texts_(count) {}

  void add(std::size_t i, std::string_view text);
  void finish(std::size_t i);  // nothing will be added to it
  bool finished(std::size_t i) const { return texts_[i].finished; }

 private:
  struct Text {
    std::string waiting;
    bool finished = false;
  };
  std::vector<Text> texts_;
  std::size_t live_ = 0;  // the one that is printed as it grows
};

}  // namespace minigpt::tools
