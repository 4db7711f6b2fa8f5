#include "models/gpt.h"

#include <cmath>

#include "autograd/checkpoint.h"
#include "autograd/ops/cross_entropy.h"
#include "autograd/ops/reshape.h"
#include "tensor/views.h"

namespace minigpt {

Gpt::Gpt(const GptConfig& c, Generator& rng) : config(c) {
  c.validate();
  // The order of these lines is the order of PyTorch's draws.
  transformer.wte = Embedding(c.vocab_size, c.n_embd, rng);
  if (!c.rotary()) transformer.wpe = Embedding(c.block_size, c.n_embd, rng);
  transformer.drop = Dropout(c.dropout);
  BlockOptions block;
  block.n_embd = c.n_embd;
  block.n_head = c.n_head;
  block.bias = c.bias;
  block.dropout = c.dropout;
  block.norm = c.norm_kind();
  block.norm_gain = c.norm_gain;
  block.activation = c.activation_kind();
  block.qk_norm = c.qk_norm;
  if (c.rotary()) block.rotary_table = rotary_table(c.block_size, c.n_embd / c.n_head);
  for (std::int64_t i = 0; i < c.n_layer; ++i) transformer.h.emplace_back(block, rng);
  transformer.ln_f = Norm(block.norm, c.n_embd, c.norm_gain, c.bias);
  lm_head = Linear(c.n_embd, c.vocab_size, false, rng);
  if (c.tie_weights) transformer.wte.weight = lm_head.weight;
  initialise(rng);
  stamp_paths(*this);
  for (Block& b : transformer.h) {
    block_parameters_.emplace_back();
    for (const NamedParameter& p : named_parameters(b)) block_parameters_.back().push_back(p.variable);
  }
}

// The constructor's default values were only drawn to keep PyTorch's stream; these are the ones that stay.
void Gpt::initialise(Generator& rng) {
  const double std = config.init_std;
  const auto draw = [&](Linear& layer) {
    init::normal_(layer.weight, 0, std, rng);
    if (layer.bias.defined()) init::zeros_(layer.bias);
  };
  init::normal_(transformer.wte.weight, 0, std, rng);  // if tied, overwritten through lm_head below
  if (!config.rotary()) init::normal_(transformer.wpe.weight, 0, std, rng);
  for (Block& block : transformer.h) {
    draw(block.attn.c_attn);
    draw(block.attn.c_proj);
    draw(block.mlp.c_fc);
    draw(block.mlp.c_proj);
  }
  draw(lm_head);
  // With zeros every block begins as the identity: the first steps train the read-out alone (Zhang et al. 2019, "Fixup").
  if (config.zero_init) {
    for (Block& block : transformer.h) {
      init::zeros_(block.attn.c_proj.weight);
      init::zeros_(block.mlp.c_proj.weight);
    }
    return;
  }
  // Each block adds two branches to the residual stream; scaling their last matrices by 1/sqrt(2 L) keeps its variance
  // from growing with depth (Radford et al. 2019, section 2.3).
  const double branch_std = std / std::sqrt(2.0 * static_cast<double>(config.n_layer));
  for (Block& block : transformer.h) {
    init::normal_(block.attn.c_proj.weight, 0, branch_std, rng);
    init::normal_(block.mlp.c_proj.weight, 0, branch_std, rng);
  }
}

Variable Gpt::trunk(const Tensor& tokens, std::int64_t first_position, const Mode& mode,
                    KvCache* cache) const {
  check(tokens.rank() == 2, "gpt", "tokens must be (B, T), got {}", tokens.shape());
  const std::int64_t t_end = first_position + tokens.dim(1);
  check(tokens.dim(1) >= 1 && t_end <= config.block_size, "gpt",
        "{} positions, but the context holds 1 to {}", t_end, config.block_size);
  const Scope scope(transformer.path);
  Variable x = transformer.wte.forward(tokens);
  if (!config.rotary())
    x = x + transformer.wpe.forward(slice(arange(t_end), 0, first_position, t_end).contiguous());
  x = transformer.drop.observed(transformer.drop.forward(x, mode), mode);
  for (std::size_t i = 0; i < transformer.h.size(); ++i)
    x = mode.recompute && !cache ? recomputed_block(i, x, mode)
                                 : transformer.h[i].forward(x, mode, cache ? &cache->layers[i] : nullptr);
  return transformer.ln_f.observed(transformer.ln_f.forward(x), mode);
}

// The masks of the second computation must be those of the first: it starts from a copy of the stream.
Variable Gpt::recomputed_block(std::size_t index, const Variable& x, const Mode& mode) const {
  const Block& block = transformer.h[index];
  const DropoutStream at_start = mode.dropout ? *mode.dropout : DropoutStream::counter(0);
  return checkpoint(x, block_parameters_[index], [&block, at_start, mode](const Variable& in, bool again) {
    if (!again) return block.forward(in, mode);
    DropoutStream masks = at_start;
    Mode quiet = mode;
    quiet.observe = nullptr;
    quiet.dropout = mode.dropout ? &masks : nullptr;
    return block.forward(in, quiet);
  });
}

Variable Gpt::forward(const Tensor& tokens, const Mode& mode) const {
  return lm_head.observed(lm_head.forward(trunk(tokens, 0, mode, nullptr)), mode);
}

Variable Gpt::loss(const Tensor& tokens, const Tensor& targets, const Mode& mode) const {
  check(tokens.shape() == targets.shape(), "gpt", "tokens {} and targets {} differ in shape", tokens.shape(),
        targets.shape());
  const Variable logits = forward(tokens, mode);
  return cross_entropy(reshape(logits, {tokens.numel(), config.vocab_size}),
                       reshape(targets, {targets.numel()}), Reduction::mean, -1);
}

Tensor Gpt::next_logits(const Tensor& tokens, KvCache& cache) const {
  const NoGrad no_grad;
  const Variable x = trunk(tokens, cache.length(), Mode{}, &cache);
  return lm_head.forward(Variable(select(x.value(), 1, -1).contiguous())).value();
}

KvCache Gpt::make_cache(std::int64_t batch) const {
  return KvCache(config.n_layer, batch, config.n_head, config.block_size, config.n_embd,
                 lm_head.weight.dtype());
}

std::vector<ParameterGroup> decay_groups(const std::vector<NamedParameter>& parameters, double learning_rate,
                                         double weight_decay) {
  ParameterGroup decayed{{}, learning_rate, weight_decay};
  ParameterGroup plain{{}, learning_rate, 0.0};
  for (const NamedParameter& p : parameters)
    (p.variable.rank() >= 2 ? decayed : plain).parameters.push_back(p);
  return {decayed, plain};
}

}  // namespace minigpt
