#pragma once
// Multi-head attention the efficient way: one projection for all heads, split afterwards.

#include "nn/attention/heads.h"
#include "nn/attention/scaled_dot_product_attention.h"
#include "nn/attention/weight_dropout.h"
#include "nn/linear.h"

namespace minigpt {

// q, k, v = W_query(x), W_key(x), W_value(x), each split into H heads of D = d_out / H columns;
// out = out_proj(heads merged of dropout(softmax(q k^T / sqrt(D), causal)) v).
//   x: (B, T, d_in) -> (B, T, d_out) -> (B, H, T, D) -> (B, T, d_out) = out   weights: (B, H, T, T)
// Rows h D .. (h + 1) D - 1 of each matrix are the matrix of head h in the wrapper: with those copied, and out_proj the
// identity, both give the same. The number of parameters does not depend on H.
// Raschka 2024, section 3.6.2, MultiHeadAttention.
struct MultiHeadCausalAttention : Module {
  Linear W_query, W_key, W_value, out_proj;
  Dropout dropout;
  std::int64_t n_head = 1;

  MultiHeadCausalAttention() = default;
  // d_out: the width of all heads together.
  MultiHeadCausalAttention(std::int64_t d_in, std::int64_t d_out, std::int64_t H, double p, bool qkv_bias,
                           Generator& rng)
      : W_query(d_in, d_out, qkv_bias, rng),
        W_key(d_in, d_out, qkv_bias, rng),
        W_value(d_in, d_out, qkv_bias, rng),
        out_proj(d_out, d_out, true, rng),
        dropout(p),
        n_head(H) {
    check(H >= 1 && d_out % H == 0, "multi_head_causal_attention",
          "{} channels cannot be split into {} heads", d_out, H);
  }

  template <class V>
  void visit(V&& v) {
    v("W_query", W_query);
    v("W_key", W_key);
    v("W_value", W_value);
    v("out_proj", out_proj);
    v("dropout", dropout);
  }

  Attention forward(const Variable& x, const Mode& mode = {}) const {
    const Scope scope(path);
    const Variable q = split_heads(W_query.forward(x), n_head), k = split_heads(W_key.forward(x), n_head),
                   v = split_heads(W_value.forward(x), n_head);  // (B, H, T, D)
    const Attention a = scaled_dot_product_attention(
        q, k, v, {.dropout = weight_dropout(dropout, q, k, mode), .causal = true});
    return {out_proj.forward(merge_heads(a.out)), a.weights};
  }
};

}  // namespace minigpt
