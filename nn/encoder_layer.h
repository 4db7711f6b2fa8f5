#pragma once
// The encoder half of a transformer: PyTorch's nn.TransformerEncoderLayer, and several of them.

#include <vector>

#include "nn/activation.h"
#include "nn/attention/multi_head_attention.h"
#include "nn/norm.h"

namespace minigpt {

// What encoder and decoder layers are built from; the defaults are PyTorch's.
struct TransformerLayerOptions {
  std::int64_t d_model = 0, nhead = 1;
  std::int64_t dim_feedforward = 2048;
  double dropout = 0.1;
  Activation activation = Activation::relu;
  bool norm_first = false;  // pre-norm instead of post-norm
  double layer_norm_eps = 1e-5;
};

// post-norm:  x = norm1(x + attn(x));    x = norm2(x + ff(x))       (Vaswani et al. 2017, section 3.1)
// pre-norm:   x = x + attn(norm1(x));    x = x + ff(norm2(x))       (Xiong et al. 2020)
//   attn(x) = dropout1(self_attn(x, x, x)),   ff(x) = dropout2(linear2(dropout(act(linear1(x)))))
//   x: (B, T, C), in and out   hidden width F = dim_feedforward
struct TransformerEncoderLayer : Module {
  MultiHeadAttention self_attn;
  Linear linear1, linear2;
  LayerNorm norm1, norm2;
  Dropout dropout, dropout1, dropout2;
  Activation activation = Activation::relu;
  bool norm_first = false;

  TransformerEncoderLayer() = default;
  TransformerEncoderLayer(const TransformerLayerOptions& o, Generator& rng)
      : self_attn(o.d_model, o.nhead, o.dropout, true, rng),
        linear1(o.d_model, o.dim_feedforward, true, rng),
        linear2(o.dim_feedforward, o.d_model, true, rng),
        norm1(o.d_model),
        norm2(o.d_model),
        dropout(o.dropout),
        dropout1(o.dropout),
        dropout2(o.dropout),
        activation(o.activation),
        norm_first(o.norm_first) {
    norm1.eps = norm2.eps = o.layer_norm_eps;
  }

  template <class V>
  void visit(V&& v) {
    v("self_attn", self_attn);
    v("linear1", linear1);
    v("dropout", dropout);
    v("linear2", linear2);
    v("norm1", norm1);
    v("norm2", norm2);
    v("dropout1", dropout1);
    v("dropout2", dropout2);
  }

  // masks: true = hidden, as in PyTorch (src_mask and src_key_padding_mask).
  Variable forward(const Variable& x, const HiddenMasks& masks = {}, const Mode& mode = {}) const {
    const Scope scope(path);
    const auto attend = [&](const Variable& y) {
      return dropout1.forward(self_attn.forward(y, y, y, masks, mode, WeightsOf::nobody).out, mode);
    };
    const auto feed_forward = [&](const Variable& y) {
      const Variable hidden = dropout.forward(activate(linear1.forward(y), activation), mode);
      return dropout2.forward(linear2.forward(hidden), mode);
    };
    if (norm_first) {
      const Variable y = x + attend(norm1.forward(x));
      return observed(y + feed_forward(norm2.forward(y)), mode);
    }
    const Variable y = norm1.forward(x + attend(x));
    return observed(norm2.forward(y + feed_forward(y)), mode);
  }
};

// Layers one after the other, and a LayerNorm behind the last if wanted: pre-norm needs one, because nothing has
// normalised the sum that leaves its last layer. PyTorch copies one layer, so its layers start equal; here each one
// draws its own start. What encoder and decoder share.
template <class Layer>
struct TransformerStack : Module {
  std::vector<Layer> layers;
  LayerNorm norm;
  bool final_norm = false;

  TransformerStack() = default;
  TransformerStack(const TransformerLayerOptions& o, std::int64_t num_layers, bool with_final_norm,
                   Generator& rng)
      : final_norm(with_final_norm) {
    for (std::int64_t i = 0; i < num_layers; ++i) layers.emplace_back(o, rng);
    if (!final_norm) return;
    norm = LayerNorm(o.d_model);
    norm.eps = o.layer_norm_eps;
  }

  template <class V>
  void visit(V&& v) {
    v("layers", layers);
    v("norm", norm);
  }

  Variable finished(const Variable& y) const { return final_norm ? norm.forward(y) : y; }
};

struct TransformerEncoder : TransformerStack<TransformerEncoderLayer> {
  using TransformerStack::TransformerStack;

  Variable forward(const Variable& x, const HiddenMasks& masks = {}, const Mode& mode = {}) const {
    const Scope scope(path);
    Variable y = x;
    for (const TransformerEncoderLayer& layer : layers) y = layer.forward(y, masks, mode);
    return finished(y);
  }
};

}  // namespace minigpt
