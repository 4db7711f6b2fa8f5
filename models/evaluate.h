#pragma once
// How good a model is: its mean cross-entropy on text it was not trained on.

#include <span>

#include "models/gpt.h"

namespace minigpt {

struct TextScore {
  double nats = 0;                                                   // sum of -ln p(token | what precedes it)
  std::int64_t count = 0;                                            // tokens scored: all but the first
  double loss() const { return nats / static_cast<double>(count); }  // nats per token
  double bits() const;                                               // bits per token
  double perplexity() const;                                         // exp(loss)
};

// Scores a whole text in windows of block_size with stride block_size / 2, counting the second half of each (the first
// one whole), so that nearly every token has at least half a context before it. No randomness, no dropout. Throws Error
// for a text of fewer than two tokens.
TextScore score_text(const Gpt& model, std::span<const std::int32_t> tokens);

// The same for documents: `tokens` is <doc> a <doc> b <doc> ...; each document is scored on its own, its end included.
TextScore score_documents(const Gpt& model, std::span<const std::int32_t> tokens, std::int32_t document_id);

}  // namespace minigpt
