#pragma once
// Cross-attention: one sequence asks, another one answers.

#include "nn/attention/heads.h"
#include "nn/attention/scaled_dot_product_attention.h"
#include "nn/linear.h"

namespace minigpt {

// q = W_q(x),  k, v = W_k(context), W_v(context), each split into H heads of D = C / H columns;
// out = W_o(heads merged of softmax(q k^T / sqrt(D), mask) v).
//   x: (B, T, C)   context: (B, S, C)   out: (B, T, C)   weights: (B, H, T, S)
//   mask: broadcasts to (B, H, T, S); bool, true = may attend, or float, added (masks.h); undefined: none
// A decoder asks with its own words and reads those of the encoder: T and S are two lengths. Self-attention is the case
// in which a sequence asks itself, forward(x, x, mask); the block of nn/attention_block.h uses it that way.
// Vaswani et al. 2017, sections 3.2.2 and 3.2.3.
struct CrossAttention : Module {
  Linear W_q, W_k, W_v, W_o;
  std::int64_t n_head = 1;

  CrossAttention() = default;
  CrossAttention(std::int64_t d_model, std::int64_t H, Generator& rng)
      : W_q(d_model, d_model, true, rng),
        W_k(d_model, d_model, true, rng),
        W_v(d_model, d_model, true, rng),
        W_o(d_model, d_model, true, rng),
        n_head(H) {
    check(H >= 1 && d_model % H == 0, "cross_attention", "{} channels cannot be split into {} heads", d_model,
          H);
  }

  template <class V>
  void visit(V&& v) {
    v("W_q", W_q);
    v("W_k", W_k);
    v("W_v", W_v);
    v("W_o", W_o);
  }

  Attention forward(const Variable& x, const Variable& context, const Tensor& mask = Tensor()) const {
    const Scope scope(path);
    const Variable q = split_heads(W_q.forward(x), n_head), k = split_heads(W_k.forward(context), n_head),
                   v = split_heads(W_v.forward(context), n_head);
    const Attention a = scaled_dot_product_attention(q, k, v, {.mask = mask});
    return {W_o.forward(merge_heads(a.out)), a.weights};
  }
};

}  // namespace minigpt
