#pragma once
// What commands read before they compute: a model folder, a text. Remarks on them wait until nothing can be refused any
// more, so that bad input is answered with one line.

#include <string>
#include <vector>

#include "models/model_folder.h"
#include "models/text_file.h"

namespace minigpt::tools {

// Lines for standard error.
class Remarks {
 public:
  template <class... Args>
  void note(fmt::format_string<Args...> format, Args&&... args) {
    lines_.push_back("note: " + fmt::format(format, std::forward<Args>(args)...));
  }
  void warn(const std::string& text) { lines_.push_back("warning: " + text); }
  // To be called once everything is checked, before the work begins.
  void print();

 private:
  std::vector<std::string> lines_;
};

enum class Weights {
  finite,  // for what nothing can be computed without
  any,     // for commands that look for the fault
};

// The model of a folder. Throws Error what load_model throws, and for weights that are not as wanted, with the name of the
// first one.
LoadedModel read_model(const std::string& folder, Generator& rng, Weights wanted, Remarks& remarks);
LoadedModel read_model(const std::string& folder, Weights wanted, Remarks& remarks);

LoadedText read_text(const std::string& path, Remarks& remarks);

// The name of the first parameter that holds a value that is not finite, "" if there is none.
std::string first_not_finite(Gpt& model);

}  // namespace minigpt::tools
