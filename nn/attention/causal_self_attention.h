#pragma once
// Multi-head causal self-attention: the half of a transformer block in which positions look at each other.

#include "autograd/ops/causal_attention.h"
#include "autograd/ops/qk_norm.h"
#include "autograd/ops/rotary.h"
#include "nn/attention/kv_cache.h"
#include "nn/dropout.h"
#include "nn/linear.h"

namespace minigpt {

// q, k, v = split(c_attn(x));  y = dropout(c_proj(heads merged of softmax(q k^T / sqrt(D), causal) v)).
//   x, y: (B, T, C)   H heads of size D = C / H                              (Vaswani et al. 2017,
//   section 3.2)
// Dropout stands in two places: attn_dropout on the weights after softmax, resid_dropout on the result.
struct CausalSelfAttention : Module {
  Linear c_attn, c_proj;
  Dropout attn_dropout, resid_dropout;
  std::int64_t n_head = 1;
  bool normalise_qk = false;
  Tensor rotary_table;  // undefined: positions are learned embeddings, added before the first block

  CausalSelfAttention() = default;
  CausalSelfAttention(std::int64_t c, std::int64_t heads, bool bias, double p, Generator& rng)
      : c_attn(c, 3 * c, bias, rng),
        c_proj(c, c, bias, rng),
        attn_dropout(p),
        resid_dropout(p),
        n_head(heads) {
    check(heads >= 1 && c % heads == 0, "attention", "{} channels cannot be split into {} heads", c, heads);
  }

  template <class V>
  void visit(V&& v) {
    v("c_attn", c_attn);
    v("c_proj", c_proj);
    v("attn_dropout", attn_dropout);
    v("resid_dropout", resid_dropout);
  }

  // With a cache, x holds the positions that follow the cached ones: they attend to all of those and to each
  // other, and are appended. Generation only: no gradient flows through a cache.
  Variable forward(const Variable& x, const Mode& mode, KvCache::Layer* cache = nullptr) const {
    return attend(c_attn.forward(x), mode, cache);
  }

  // The rest of forward(), from what c_attn gives (B, T, 3C).
  Variable attend(const Variable& projected, const Mode& mode, KvCache::Layer* cache = nullptr) const {
    const Scope scope(path);
    const Variable qkv = prepared(projected, cache ? cache->length : 0);
    if (cache) return c_proj.forward(Variable(cache->attend(qkv.value())));
    DropoutMask mask;
    if (mode.training && attn_dropout.p > 0)
      mask = attn_dropout.draw({qkv.dim(0), n_head, qkv.dim(1), qkv.dim(1)}, mode);
    const Variable merged = causal_attention(qkv, static_cast<int>(n_head), mask);  // (B, T, C)
    return observed(resid_dropout.forward(c_proj.forward(merged), mode), mode);
  }

  // What attention takes: queries and keys normalised and turned, as far as the model does either. The first of the
  // T positions of qkv (B, T, 3C) is number first_position of its text.
  Variable prepared(Variable qkv, std::int64_t first_position) const {
    if (normalise_qk) qkv = qk_norm(qkv, n_head);
    return rotary_table.defined() ? rotary(qkv, n_head, rotary_table, first_position) : qkv;
  }
};

}  // namespace minigpt
