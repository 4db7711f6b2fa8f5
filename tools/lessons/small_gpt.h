#pragma once
// A trained GPT for lessons that look into one: the reader's own, or a small one that learns while the reader waits.

#include <memory>

#include "models/gpt.h"
#include "models/tokenizer.h"
#include "tools/lessons/lesson.h"

namespace minigpt::lessons {

struct SmallGptShape {
  std::int64_t n_layer = 4, n_head = 4, n_embd = 64, block_size = 64;
  std::int64_t steps = 900, batch_size = 16;
};

struct SmallGpt {
  CharTokenizer tokenizer;
  std::unique_ptr<Gpt> model;
  std::vector<std::int32_t>
      held_out;        // text that the model has not learnt from, at least one context and one character
  double loss = 0;     // on it, in nats per character
  double seconds = 0;  // that training took; 0 for the reader's own model
};

// Trains a model of this shape on the first 9 tenths of the page's text (the recipe of the preset "quick", with learned positions), with progress; in
// a quick lesson it takes two steps. The rest of the text is held out.
SmallGpt train_small_gpt(Page& page, const SmallGptShape& shape);

// The model of --model with the last tenth of the page's text, as far as it knows its characters; without one,
// train_small_gpt. Throws Error if too little is left of the text.
SmallGpt small_gpt(Page& page, const SmallGptShape& shape = {});

// `count` tokens of the held-out text, from a place where a line begins (one with a comment, if there is one).
std::vector<std::int32_t> passage(const SmallGpt& gpt, std::int64_t count);
// The names of tokens, for the edges of a heat map.
std::vector<std::string> labels_of(const SmallGpt& gpt, const std::vector<std::int32_t>& tokens);

}  // namespace minigpt::lessons
