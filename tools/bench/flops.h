#pragma once
// How much arithmetic a training step is, counted on paper.

#include "models/gpt_config.h"

namespace minigpt::tools {

// Elements of the weights that a token is multiplied with: 12 C^2 per block (3 for queries, keys and values, 1 for the
// output of attention, 4 and 4 for the MLP) and the read-out V C. Embeddings are looked up, not multiplied.
inline double matmul_parameters(const GptConfig& c) {
  const auto C = static_cast<double>(c.n_embd);
  return static_cast<double>(c.n_layer) * 12 * C * C + static_cast<double>(c.vocab_size) * C;
}

// Floating-point operations of the matrix products of one token's forward pass, at `context` positions:
//
//   2 P + 4 L T C      a product and a sum per weight; scores q k^T and p v, 2 T C each per layer
//
// (Kaplan et al. 2020, "Scaling Laws for Neural Language Models", section 2.1.) Scores of the future count too, though
// they are not computed: the usual count, so that figures can be compared.
inline double forward_flops(const GptConfig& c, double context) {
  return 2 * matmul_parameters(c) + 4 * static_cast<double>(c.n_layer * c.n_embd) * context;
}

// Of a training step: the backward pass multiplies twice for each product of the forward pass.
//   tokens * 3 * (2 P + 4 L T C) = 6 P tokens + 12 L T C tokens
inline double step_flops(const GptConfig& c, double tokens, double context) {
  return 3 * tokens * forward_flops(c, context);
}

}  // namespace minigpt::tools
