#pragma once
// The decoder half of a transformer: PyTorch's nn.TransformerDecoderLayer, and several of them.

#include "nn/encoder_layer.h"

namespace minigpt {

// Self-attention on what has been written, cross-attention to what the encoder made of the input, feed-forward.
// post-norm:  x = norm1(x + self(x));  x = norm2(x + cross(x, memory));  x = norm3(x + ff(x))
// pre-norm:   x = x + self(norm1(x));  x = x + cross(norm2(x), memory);  x = x + ff(norm3(x))
//   self(x) = dropout1(self_attn(x, x, x)),   cross(x, m) = dropout2(multihead_attn(x, m, m)),
//   ff(x) = dropout3(linear2(dropout(act(linear1(x)))))
//   x: (B, T, C), in and out   memory: (B, S, C)
// Vaswani et al. 2017, section 3.1; pre-norm: Xiong et al. 2020.
struct TransformerDecoderLayer : Module {
  MultiHeadAttention self_attn, multihead_attn;
  Linear linear1, linear2;
  LayerNorm norm1, norm2, norm3;
  Dropout dropout, dropout1, dropout2, dropout3;
  Activation activation = Activation::relu;
  bool norm_first = false;

  TransformerDecoderLayer() = default;
  TransformerDecoderLayer(const TransformerLayerOptions& o, Generator& rng)
      : self_attn(o.d_model, o.nhead, o.dropout, true, rng),
        multihead_attn(o.d_model, o.nhead, o.dropout, true, rng),
        linear1(o.d_model, o.dim_feedforward, true, rng),
        linear2(o.dim_feedforward, o.d_model, true, rng),
        norm1(o.d_model),
        norm2(o.d_model),
        norm3(o.d_model),
        dropout(o.dropout),
        dropout1(o.dropout),
        dropout2(o.dropout),
        dropout3(o.dropout),
        activation(o.activation),
        norm_first(o.norm_first) {
    norm1.eps = norm2.eps = norm3.eps = o.layer_norm_eps;
  }

  template <class V>
  void visit(V&& v) {
    v("self_attn", self_attn);
    v("multihead_attn", multihead_attn);
    v("linear1", linear1);
    v("dropout", dropout);
    v("linear2", linear2);
    v("norm1", norm1);
    v("norm2", norm2);
    v("norm3", norm3);
    v("dropout1", dropout1);
    v("dropout2", dropout2);
    v("dropout3", dropout3);
  }

  // tgt_masks for the self-attention, memory_masks for the cross-attention; true = hidden, as in PyTorch. A model that
  // writes sets tgt_masks.causal.
  Variable forward(const Variable& x, const Variable& memory, const HiddenMasks& tgt_masks = {},
                   const HiddenMasks& memory_masks = {}, const Mode& mode = {}) const {
    const Scope scope(path);
    const auto look_back = [&](const Variable& y) {
      return dropout1.forward(self_attn.forward(y, y, y, tgt_masks, mode, WeightsOf::nobody).out, mode);
    };
    const auto look_across = [&](const Variable& y) {
      return dropout2.forward(
          multihead_attn.forward(y, memory, memory, memory_masks, mode, WeightsOf::nobody).out, mode);
    };
    const auto feed_forward = [&](const Variable& y) {
      const Variable hidden = dropout.forward(activate(linear1.forward(y), activation), mode);
      return dropout3.forward(linear2.forward(hidden), mode);
    };
    if (norm_first) {
      const Variable y = x + look_back(norm1.forward(x));
      const Variable z = y + look_across(norm2.forward(y));
      return observed(z + feed_forward(norm3.forward(z)), mode);
    }
    const Variable y = norm1.forward(x + look_back(x));
    const Variable z = norm2.forward(y + look_across(y));
    return observed(norm3.forward(z + feed_forward(z)), mode);
  }
};

// Layers one after the other, all of which read the same memory.
struct TransformerDecoder : TransformerStack<TransformerDecoderLayer> {
  using TransformerStack::TransformerStack;

  Variable forward(const Variable& x, const Variable& memory, const HiddenMasks& tgt_masks = {},
                   const HiddenMasks& memory_masks = {}, const Mode& mode = {}) const {
    const Scope scope(path);
    Variable y = x;
    for (const TransformerDecoderLayer& layer : layers)
      y = layer.forward(y, memory, tgt_masks, memory_masks, mode);
    return finished(y);
  }
};

}  // namespace minigpt
