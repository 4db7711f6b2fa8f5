#pragma once
// Sampling: turning logits into text, one token at a time.

#include <functional>
#include <span>

#include "models/gpt.h"
#include "tensor/generator.h"

namespace minigpt {

struct SampleOptions {
  double temperature = 0.8;  // logits are divided by it; 0 always takes the likeliest token
  std::int64_t top_k = 0;    // only the k likeliest tokens (ties with the k-th included), 0 for all
  double top_p = 1.0;        // only the likeliest tokens that together reach this probability

  // Throws Error if a value makes no sense (negative, NaN).
  void validate() const;
};

// Probabilities of the next token: softmax(logits / temperature) after top-k, then cut by top-p and rescaled
// (Holtzman et al. 2020, section 3.1). logits: (V) finite. temperature > 0.
std::vector<double> next_probabilities(std::span<const float> logits, const SampleOptions& options);

// Picks a token from logits (V). Draws 2 V words from rng, as torch.multinomial; none when temperature is 0, which takes
// the largest logit, the lowest id of equal ones. Throws RunError if a logit is not finite.
std::int32_t sample_token(std::span<const float> logits, const SampleOptions& options, Generator& rng);

// Continues `prompt` (at least one token) by up to `count` tokens and hands each to on_token, which may return false to
// stop. The context is the last block_size tokens. While everything fits, a key/value cache makes each token cost one
// position; beyond that the window slides and is computed anew each time, positions starting at 0 again, exactly as
// nanoGPT does.
void generate(const Gpt& model, std::span<const std::int32_t> prompt, std::int64_t count,
              const SampleOptions& options, Generator& rng,
              const std::function<bool(std::int32_t)>& on_token);

}  // namespace minigpt
