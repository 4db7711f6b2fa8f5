#pragma once
// The smallest transformer block: attention and a feed-forward layer, each added to its input and normalised.

#include "autograd/ops/add.h"
#include "nn/attention/cross_attention.h"
#include "nn/dropout.h"
#include "nn/norm.h"

namespace minigpt {

// x = norm1(x + dropout(attention(x)));  x = norm2(x + dropout(ffn(x))).   x: (B, T, C), in and out
//   mask: as in CrossAttention, broadcast to (B, H, T, T)
// Post-norm, as in the first transformer (Vaswani et al. 2017, section 3.1); its feed-forward part is cut down to one
// Linear without an activation, which adds no more than another projection would. TransformerEncoderLayer
// (nn/encoder_layer.h) has the whole one, and pre-norm.
struct AttentionBlock : Module {
  CrossAttention attention;
  LayerNorm norm1, norm2;
  Linear ffn;
  Dropout dropout;

  AttentionBlock() = default;
  AttentionBlock(std::int64_t d_model, std::int64_t H, double p, Generator& rng)
      : attention(d_model, H, rng),
        norm1(d_model),
        norm2(d_model),
        ffn(d_model, d_model, true, rng),
        dropout(p) {}

  template <class V>
  void visit(V&& v) {
    v("attention", attention);
    v("norm1", norm1);
    v("norm2", norm2);
    v("ffn", ffn);
    v("dropout", dropout);
  }

  Variable forward(const Variable& x, const Tensor& mask = Tensor(), const Mode& mode = {}) const {
    const Scope scope(path);
    const Variable y = norm1.forward(x + dropout.forward(attention.forward(x, x, mask).out, mode));
    return norm2.forward(y + dropout.forward(ffn.forward(y), mode));
  }
};

}  // namespace minigpt
