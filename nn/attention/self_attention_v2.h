#pragma once
// Self-attention with three learned matrices, written with Linear layers.

#include "nn/attention/scaled_dot_product_attention.h"
#include "nn/linear.h"

namespace minigpt {

// q = W_query(x),  k = W_key(x),  v = W_value(x),   out = softmax(q k^T / sqrt(d_out)) v.
//   x: (..., T, d_in)   out: (..., T, d_out)   weights: (..., T, T)
// The same function as v1: a Linear layer keeps its matrix transposed, (d_out, d_in), so W_query.weight^T here is
// W_query there. What differs is the start: Linear draws from U(-1/sqrt(d_in), 1/sqrt(d_in)), centred and narrow.
// Raschka 2024, section 3.4.2, SelfAttention_v2.
struct SelfAttentionV2 : Module {
  Linear W_query, W_key, W_value;

  SelfAttentionV2() = default;
  SelfAttentionV2(std::int64_t d_in, std::int64_t d_out, bool qkv_bias, Generator& rng)
      : W_query(d_in, d_out, qkv_bias, rng),
        W_key(d_in, d_out, qkv_bias, rng),
        W_value(d_in, d_out, qkv_bias, rng) {}

  template <class V>
  void visit(V&& v) {
    v("W_query", W_query);
    v("W_key", W_key);
    v("W_value", W_value);
  }

  Attention forward(const Variable& x) const {
    const Scope scope(path);
    return scaled_dot_product_attention(W_query.forward(x), W_key.forward(x), W_value.forward(x));
  }
};

}  // namespace minigpt
