#pragma once
// Self-attention with three learned matrices, written with bare parameters.

#include "nn/attention/scaled_dot_product_attention.h"
#include "nn/init.h"
#include "nn/module.h"

namespace minigpt {

// q = x W_query,  k = x W_key,  v = x W_value,   out = softmax(q k^T / sqrt(d_out)) v.
//   x: (..., T, d_in)   each W: (d_in, d_out)   out: (..., T, d_out)   weights: (..., T, T)
// The matrices start uniform in [0, 1), drawn in this order, as torch.rand draws them.
// Raschka 2024, section 3.4.2, SelfAttention_v1.
struct SelfAttentionV1 : Module {
  Variable W_query, W_key, W_value;

  SelfAttentionV1() = default;
  SelfAttentionV1(std::int64_t d_in, std::int64_t d_out, Generator& rng) {
    for (Variable* w : {&W_query, &W_key, &W_value}) {
      *w = Variable(Tensor::empty({d_in, d_out}), true);
      init::uniform_(*w, 0, 1, rng);
    }
  }

  template <class V>
  void visit(V&& v) {
    v("W_query", W_query);
    v("W_key", W_key);
    v("W_value", W_value);
  }

  Attention forward(const Variable& x) const {
    const Scope scope(path);
    return scaled_dot_product_attention(matmul(x, W_query), matmul(x, W_key), matmul(x, W_value));
  }
};

}  // namespace minigpt
