#pragma once
// MultiHeadAttention: PyTorch's nn.MultiheadAttention, with its parameter names, its masks and its start.

#include "autograd/ops/mean.h"
#include "autograd/ops/split.h"
#include "nn/attention/heads.h"
#include "nn/attention/scaled_dot_product_attention.h"
#include "nn/attention/weight_dropout.h"
#include "nn/linear.h"

namespace minigpt {

// What must not be looked at, asked as PyTorch's modules ask: TRUE = HIDDEN, where scaled_dot_product_attention has
// true = may attend. Each may be undefined; a key is seen if none of them hides it.
struct HiddenMasks {
  // (T, S), or (B * H, T, S) as in PyTorch, or (B, H, T, S); float: added to the scores, -inf hides.
  Tensor attn_mask = {};
  // (B, S): TRUE = HIDDEN, a place that is only filled up; float: added.
  Tensor key_padding_mask = {};
  // Query t sees keys 0..t, as with an attn_mask that is true above the diagonal.
  bool causal = false;
};

// Which weights to hand out: PyTorch's need_weights and average_attn_weights.
enum class WeightsOf { nobody, mean_of_heads, each_head };

// The masks as scaled_dot_product_attention wants them: one that broadcasts to (B, H, T, S), true = may attend.
inline Tensor visible_mask(const HiddenMasks& masks, std::int64_t H) {
  const auto visible = [](const Tensor& m) { return m.dtype() == DType::boolean ? logical_not(m) : m; };
  Tensor attn, padding;
  if (masks.attn_mask.defined()) {
    attn = visible(masks.attn_mask);
    if (attn.rank() == 3) attn = reshape(attn, {-1, H, attn.dim(1), attn.dim(2)});
  }
  if (masks.key_padding_mask.defined()) {
    padding = visible(masks.key_padding_mask);
    check(padding.rank() == 1 || padding.rank() == 2, "multi_head_attention",
          "the key padding mask must be (B, S), got {}", padding.shape());
    // (B, S) -> (B, 1, 1, S): for every head and every query.
    padding = unsqueeze(unsqueeze(padding, -2), -2);
  }
  return combine_masks(attn, padding);
}

// q, k, v = query W_q^T + b_q, key W_k^T + b_k, value W_v^T + b_v, each split into H heads of D = C / H columns;
// out = out_proj(heads merged of dropout(softmax(q k^T / sqrt(D), masks)) v).
//   query: (B, T, C)   key, value: (B, S, C)   out: (B, T, C)   weights: (B, T, S) mean of heads, or (B, H, T, S)
//   in_proj_weight: (3C, C), the rows of W_q, W_k and W_v   in_proj_bias: (3C), or undefined
// The batch comes first (PyTorch: batch_first=True), or is missing: (T, C). A query with every key hidden gets zero
// weights, where PyTorch has NaN. Weights are handed out as the softmax made them, before dropout.
// Vaswani et al. 2017, section 3.2.2. Throws Error where shapes or types do not fit.
struct MultiHeadAttention : Module {
  Variable in_proj_weight, in_proj_bias;
  Linear out_proj;
  Dropout dropout;
  std::int64_t n_head = 1;

  MultiHeadAttention() = default;
  // Draws as PyTorch does: out_proj as a Linear whose bias is then set to 0, and in_proj_weight by Xavier's rule.
  MultiHeadAttention(std::int64_t embed_dim, std::int64_t num_heads, double p, bool bias, Generator& rng)
      : in_proj_weight(Tensor::empty({3 * embed_dim, embed_dim}), true),
        out_proj(embed_dim, embed_dim, bias, rng),
        dropout(p),
        n_head(num_heads) {
    check(num_heads >= 1 && embed_dim % num_heads == 0, "multi_head_attention",
          "{} channels cannot be split into {} heads", embed_dim, num_heads);
    init::xavier_uniform_(in_proj_weight, 1, rng);
    if (!bias) return;
    in_proj_bias = Variable(zeros({3 * embed_dim}), true);
    init::zeros_(out_proj.bias);
  }

  template <class V>
  void visit(V&& v) {
    v("in_proj_weight", in_proj_weight);
    v("in_proj_bias", in_proj_bias);
    v("out_proj", out_proj);
    v("dropout", dropout);
  }

  Attention forward(const Variable& query, const Variable& key, const Variable& value,
                    const HiddenMasks& masks = {}, const Mode& mode = {},
                    WeightsOf wanted = WeightsOf::mean_of_heads) const {
    const Scope scope(path);
    const Variable q = project(query, 0), k = project(key, 1), v = project(value, 2);  // (B, H, T or S, D)
    Attention a = scaled_dot_product_attention(q, k, v,
                                               {.mask = visible_mask(masks, n_head),
                                                .dropout = weight_dropout(dropout, q, k, mode),
                                                .causal = masks.causal,
                                                .need_weights = wanted != WeightsOf::nobody});
    if (wanted == WeightsOf::mean_of_heads) a.weights = mean(a.weights, {-3});
    return {out_proj.forward(merge_heads(a.out)), a.weights};
  }

 private:
  // Number 0, 1 or 2 of the three projections, split into heads.
  Variable project(const Variable& x, std::int64_t number) const {
    const std::int64_t C = out_proj.weight.dim(0), from = number * C, to = from + C;
    const Variable bias = in_proj_bias.defined() ? slice(in_proj_bias, 0, from, to) : Variable();
    return split_heads(linear(x, slice(in_proj_weight, 0, from, to), bias), n_head);
  }
};

}  // namespace minigpt
