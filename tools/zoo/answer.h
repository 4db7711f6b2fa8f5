#pragma once
// Is a diagnosis right? It is free text, in English or Chinese: "layer_norm, the mean term is missing".

#include <string>
#include <string_view>

#include "tools/zoo/mutant.h"

namespace minigpt::zoo {

struct Verdict {
  bool operation = false;  // the answer names the operation
  bool fault = false;      // and what is wrong with it
  bool too_many = false;   // it names so many operations that one of them had to be right
  bool right() const { return operation && fault && !too_many; }
};

// Upper and lower case, underscores and punctuation do not count. A diagnosis of more than three operations is a guess.
Verdict judge(const Mutant& mutant, std::string_view answer);

}  // namespace minigpt::zoo
