#pragma once
// Multi-head attention the obvious way: several single heads, their results side by side.

#include <vector>

#include "autograd/ops/concat.h"
#include "autograd/ops/stack.h"
#include "nn/attention/causal_attention.h"

namespace minigpt {

// out = head_0(x), head_1(x), ... side by side.
//   x: (B, T, d_in)   out: (B, T, H * d_out)   weights: (B, H, T, T)
// Each head has matrices of its own and may look for something else. They run one after the other, which is what
// MultiHeadCausalAttention avoids.
// Raschka 2024, section 3.6.1, MultiHeadAttentionWrapper.
struct MultiHeadAttentionWrapper : Module {
  std::vector<CausalAttention> heads;

  MultiHeadAttentionWrapper() = default;
  // d_out: the width of one head.
  MultiHeadAttentionWrapper(std::int64_t d_in, std::int64_t d_out, std::int64_t H, double p, bool qkv_bias,
                            Generator& rng) {
    check(H >= 1, "multi_head_attention_wrapper", "needs at least one head, got {}", H);
    for (std::int64_t h = 0; h < H; ++h) heads.emplace_back(d_in, d_out, p, qkv_bias, rng);
  }

  template <class V>
  void visit(V&& v) {
    v("heads", heads);
  }

  Attention forward(const Variable& x, const Mode& mode = {}) const {
    const Scope scope(path);
    std::vector<Variable> outs, weights;
    for (const CausalAttention& head : heads) {
      Attention a = head.forward(x, mode);
      outs.push_back(a.out);
      weights.push_back(a.weights);
    }
    return {concat(outs, -1), stack(weights, -3)};
  }
};

}  // namespace minigpt
