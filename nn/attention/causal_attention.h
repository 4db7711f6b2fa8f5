#pragma once
// Causal attention: one head that does not look ahead, with dropout on its weights.

#include "nn/attention/scaled_dot_product_attention.h"
#include "nn/attention/weight_dropout.h"
#include "nn/linear.h"

namespace minigpt {

// out = dropout(softmax(q k^T / sqrt(d_out), causal)) v,  with q, k, v = W_query(x), W_key(x), W_value(x).
//   x: (B, T, d_in)   out: (B, T, d_out)   weights: (B, T, T), 0 above the diagonal
// The mask is made for the T at hand, so texts of any length pass and none has to be named beforehand.
// Raschka 2024, section 3.5.3, CausalAttention.
struct CausalAttention : Module {
  Linear W_query, W_key, W_value;
  Dropout dropout;

  CausalAttention() = default;
  CausalAttention(std::int64_t d_in, std::int64_t d_out, double p, bool qkv_bias, Generator& rng)
      : W_query(d_in, d_out, qkv_bias, rng),
        W_key(d_in, d_out, qkv_bias, rng),
        W_value(d_in, d_out, qkv_bias, rng),
        dropout(p) {}

  template <class V>
  void visit(V&& v) {
    v("W_query", W_query);
    v("W_key", W_key);
    v("W_value", W_value);
    v("dropout", dropout);
  }

  Attention forward(const Variable& x, const Mode& mode = {}) const {
    const Scope scope(path);
    const Variable q = W_query.forward(x), k = W_key.forward(x), v = W_value.forward(x);
    return scaled_dot_product_attention(q, k, v,
                                        {.dropout = weight_dropout(dropout, q, k, mode), .causal = true});
  }
};

}  // namespace minigpt
