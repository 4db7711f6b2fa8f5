#include "models/attention_weights.h"

#include "autograd/ops/reshape.h"
#include "autograd/ops/split.h"
#include "nn/attention/scaled_dot_product_attention.h"

namespace minigpt {

Tensor attention_weights_of(const Block& block, const Tensor& input) {
  const CausalSelfAttention& attn = block.attn;
  const Variable qkv = attn.prepared(block.ln_1.then(attn.c_attn, Variable(input)), 0);  // (B, T, 3C)
  const std::int64_t B = qkv.dim(0), T = qkv.dim(1), C = qkv.dim(2) / 3;
  const std::vector<Variable> parts = split(qkv, C, 2);
  const auto to_heads = [&](const Variable& x) {  // (B, T, C) -> (B, H, T, D)
    return transpose(reshape(x, {B, T, attn.n_head, C / attn.n_head}), 1, 2);
  };
  AttentionOptions options;
  options.causal = true;
  return scaled_dot_product_attention(to_heads(parts[0]), to_heads(parts[1]), to_heads(parts[2]), options)
      .weights.value();
}

void visit_block_inputs(const Gpt& model, const Tensor& tokens,
                        const std::function<void(std::int64_t, const Tensor&, const Tensor&)>& visit) {
  const NoGrad no_grad;
  const Gpt::Transformer& t = model.transformer;
  const std::size_t L = t.h.size();
  std::vector<Tensor> stream(L + 1);  // what goes into each block, and out of the last one
  const std::function<void(const char*, const Variable&)> observe = [&](const char* path,
                                                                        const Variable& output) {
    for (std::size_t i = 0; i <= L; ++i)
      if (std::string_view(path) == (i == 0 ? t.drop.path : t.h[i - 1].path)) stream[i] = output.value();
  };
  Mode mode;
  mode.observe = &observe;
  model.forward(tokens, mode);
  for (std::size_t i = 0; i < L; ++i) visit(static_cast<std::int64_t>(i), stream[i], stream[i + 1]);
}

void visit_attention_weights(const Gpt& model, const Tensor& tokens,
                             const std::function<void(std::int64_t, const Tensor&)>& visit) {
  const NoGrad no_grad;
  visit_block_inputs(model, tokens, [&](std::int64_t layer, const Tensor& input, const Tensor&) {
    visit(layer, attention_weights_of(model.transformer.h[static_cast<std::size_t>(layer)], input));
  });
}

std::vector<Tensor> attention_weights(const Gpt& model, const Tensor& tokens) {
  std::vector<Tensor> all;
  visit_attention_weights(model, tokens,
                          [&](std::int64_t, const Tensor& weights) { all.push_back(weights); });
  return all;
}

}  // namespace minigpt
