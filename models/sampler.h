#pragma once
// Sampling: turning logits into text, one token at a time.

#include <functional>
#include <span>

#include "models/gpt_decode.h"
#include "tensor/generator.h"

namespace minigpt {

// What happens when the context is full. Positions are counted from the start of the context, so that cached keys and
// values are of no use once the window has moved: everything in it has other positions then.
//   exact: the oldest token leaves, and the whole window is computed anew for every new token, as nanoGPT does;
//   chunk: the newest half stays, is computed anew once, and the cache serves again until the context is full. Faster by
//          an order of magnitude. The text is another one, as the model sees between block_size / 2 and block_size tokens.
enum class FullWindow { exact, chunk };

struct SampleOptions {
  double temperature = 0.8;  // logits are divided by it; 0 always takes the likeliest token
  std::int64_t top_k = 0;    // only the k likeliest tokens (ties with the k-th included), 0 for all
  double top_p = 1.0;        // only the likeliest tokens that together reach this probability
  FullWindow window = FullWindow::exact;

  // Throws Error if a value makes no sense (negative, NaN).
  void validate() const;
};

// Probabilities of the next token: softmax(logits / temperature) after top-k, then cut by top-p and rescaled
// (Holtzman et al. 2020, section 3.1). logits: (V) finite. temperature > 0.
std::vector<double> next_probabilities(std::span<const float> logits, const SampleOptions& options);

// Picks a token from logits (V). Draws 2 V words from rng, as torch.multinomial; none when temperature is 0, which takes
// the largest logit, the lowest id of equal ones. Throws RunError if a logit is not finite.
std::int32_t sample_token(std::span<const float> logits, const SampleOptions& options, Generator& rng);

// One text of several that are written together.
struct TextRequest {
  std::vector<std::int32_t> prompt;            // at least one token
  Generator rng;                               // its own: no text depends on the others
  std::function<bool(std::int32_t)> on_token;  // gets every new token, may return false to stop
};

// Continues each prompt by up to `count` tokens. Texts take turns: one token of each, in the order given. Every step
// reads the weights once for all of them; each text gets the tokens it would get alone. While a text fits into
// block_size tokens, a key/value cache makes each token cost one position; beyond that see FullWindow.
// Throws Error on an empty prompt, an unknown token or a negative count, RunError on logits that are not finite.
void generate(GptDecoder& decoder, std::span<TextRequest> texts, std::int64_t count,
              const SampleOptions& options);

// The same for one text. rng: its stream, which goes on where the text ends.
void generate(const Gpt& model, std::span<const std::int32_t> prompt, std::int64_t count,
              const SampleOptions& options, Generator& rng,
              const std::function<bool(std::int32_t)>& on_token);

}  // namespace minigpt
