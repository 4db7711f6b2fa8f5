#pragma once
// One pre-norm transformer block.

#include "autograd/ops/add.h"
#include "nn/attention/causal_self_attention.h"
#include "nn/mlp.h"
#include "nn/norm.h"

namespace minigpt {

struct BlockOptions {
  std::int64_t n_embd = 0, n_head = 1;
  bool bias = true;
  double dropout = 0;
  NormKind norm = NormKind::layer;
  bool norm_gain = true;
  Activation activation = Activation::gelu_erf;
  bool qk_norm = false;
  Tensor rotary_table;  // of tensor/rotary.h, shared by all blocks; undefined for none
};

// x = x + attn(ln_1(x));  x = x + mlp(ln_2(x)).   x: (B, T, C)
// The normalisation sits inside the branches, so the residual stream runs from bottom to top untouched, and
// gradients with it (Radford et al. 2019, section 2.3; Xiong et al. 2020).
struct Block : Module {
  Norm ln_1;
  CausalSelfAttention attn;
  Norm ln_2;
  Mlp mlp;

  Block() = default;
  Block(const BlockOptions& o, Generator& rng)
      : ln_1(o.norm, o.n_embd, o.norm_gain, o.bias),
        attn(o.n_embd, o.n_head, o.bias, o.dropout, rng),
        ln_2(o.norm, o.n_embd, o.norm_gain, o.bias),
        mlp(o.n_embd, o.bias, o.dropout, o.activation, rng) {
    attn.normalise_qk = o.qk_norm;
    attn.rotary_table = o.rotary_table;
  }

  template <class V>
  void visit(V&& v) {
    v("ln_1", ln_1);
    v("attn", attn);
    v("ln_2", ln_2);
    v("mlp", mlp);
  }

  Variable forward(const Variable& x, const Mode& mode, KvCache::Layer* cache = nullptr) const {
    const Scope scope(path);
    const ResidualNorm middle = ln_2.forward(x, attn.attend(ln_1.then(attn.c_attn, x), mode, cache));
    return observed(middle.sum + mlp.forward(middle.normed, mode), mode);
  }
};

}  // namespace minigpt
