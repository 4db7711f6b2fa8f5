#pragma once
// The GPT: a stack of blocks between an embedding and a linear read-out. Structure, names, initial values and the order
// in which they are drawn are nanoGPT's, so that the same seed gives the same weights.
//
//   tokens (B, T) -> token + position embedding (B, T, C) -> L blocks -> norm -> logits (B, T, V)
//
// While training, dropout stands in four places: drop on the sum of the embeddings, and in each block attn.attn_dropout on
// the attention weights after softmax, attn.resid_dropout on what attention adds, and mlp.dropout on what the MLP adds.
// logits[b][t] scores what may follow after tokens[b][0..t]; position t sees nothing later than itself.

#include "models/gpt_config.h"
#include "nn/block.h"
#include "nn/embedding.h"
#include "nn/optim/adam.h"

namespace minigpt {

struct Gpt : Module {
  struct Transformer : Module {
    Embedding wte, wpe;  // of tokens and of positions
    Dropout drop;
    std::vector<Block> h;
    Norm ln_f;

    template <class V>
    void visit(V&& v) {
      v("wte", wte);
      v("wpe", wpe);
      v("drop", drop);
      v("h", h);
      v("ln_f", ln_f);
    }
  };

  GptConfig config;
  Transformer transformer;
  Linear lm_head;  // shares its weight with transformer.wte if config.tie_weights

  // Throws Error if the configuration does not fit together.
  Gpt(const GptConfig& config, Generator& rng);

  template <class V>
  void visit(V&& v) {
    v("transformer", transformer);
    v("lm_head", lm_head);
  }

  // Logits of every position.   tokens: int32 (B, T), T <= block_size   ->   (B, T, V)
  Variable forward(const Tensor& tokens, const Mode& mode = {}) const;
  // Mean cross-entropy, in nats per token, of predicting targets (B, T). Targets of -1 are left out.
  Variable loss(const Tensor& tokens, const Tensor& targets, const Mode& mode = {}) const;
  // Logits after the last of the new tokens (B, T), given the cached ones; the cache grows by T.   ->   (B, V)
  Tensor next_logits(const Tensor& tokens, KvCache& cache) const;

  std::vector<NamedParameter> parameters() { return named_parameters(*this); }
  KvCache make_cache(std::int64_t batch) const;

 private:
  Variable trunk(const Tensor& tokens, std::int64_t first_position, const Mode& mode, KvCache* cache) const;
  void initialise(Generator& rng);
  Variable recomputed_block(std::size_t index, const Variable& x, const Mode& mode) const;
  std::vector<std::vector<Variable>> block_parameters_;
};

// nanoGPT's two groups: matrices decay, vectors (biases, norm weights) do not. The choice goes by shape: rank >= 2.
std::vector<ParameterGroup> decay_groups(const std::vector<NamedParameter>& parameters, double learning_rate,
                                         double weight_decay);

}  // namespace minigpt
