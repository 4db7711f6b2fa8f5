#pragma once
// What a GPT expects at every character of one text, how it got there layer by layer, and what its loss hangs on.

#include <span>
#include <vector>

#include "models/gpt.h"

namespace minigpt {

struct Candidate {
  std::int32_t token = 0;
  double probability = 0;
};

// One reading of the residual stream at one position.
struct LensReading {
  Candidate best;          // the likeliest next token, if the model ended here
  double probability = 0;  // of the token that did follow
};

struct Predictions {
  // Index i speaks of token i + 1, predicted from tokens 0 .. i.
  std::vector<double> loss;                 // -ln p(token i + 1), in nats
  std::vector<std::vector<Candidate>> top;  // the likeliest, most likely first
  // lens[l][i]: layer 0 is the sum of embeddings, layer l the output of block l - 1; the last is the model itself.
  std::vector<std::vector<LensReading>> lens;
  // saliency[i]: |d(mean loss) / d(embedding of token i)|, the Euclidean norm over its channels.
  std::vector<double> saliency;

  double mean_loss() const;
};

// The model without dropout on one text.   tokens: 2 to block_size + 1 of them; the last one is only predicted.
// The logit lens is lm_head(ln_f(x_l)) with x_l the residual stream after layer l (nostalgebraist 2020, "interpreting GPT: the
// logit lens"); saliency is Simonyan et al. 2014, "Deep Inside Convolutional Networks", section 3, on embeddings.
// Throws Error for another number of tokens.
Predictions predict(const Gpt& model, std::span<const std::int32_t> tokens, int top_k = 5);

// Row i, column j <= i: |d(loss of token i + 1) / d(embedding of token j)|, row-major, T x T for T + 1 tokens; 0 beyond the
// diagonal. T backward passes through one forward pass.
std::vector<double> saliency_by_token(const Gpt& model, std::span<const std::int32_t> tokens);

// Operations of saliency_by_token's matrix products, about: 4 P T for each of T backward passes. For deciding whether to.
double saliency_flops(const Gpt& model, std::int64_t length);

}  // namespace minigpt
