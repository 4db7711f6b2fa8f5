#pragma once
// The key/value cache: what makes generating a token cost one position instead of the whole context.
//
// Keys and values of past positions never change in a causal model, because no position sees a later one.
// They are kept, so a new token needs only its own query, key and value.

#include <vector>

#include "tensor/tensor.h"

namespace minigpt {

struct KvCache {
  // Keys and values of one layer, for B sequences of the same length and H heads of D = C / H columns. They lie as
  // kernels/decode_attention.h reads them:
  //   values (B, H, capacity, D);   keys (B, H, groups, D, kKeyGroup): position t is column t % kKeyGroup of group
  //   t / kKeyGroup
  // The first `length` positions are filled.
  struct Layer {
    Tensor keys, values;
    std::int64_t length = 0;

    Layer(std::int64_t batch, std::int64_t heads, std::int64_t capacity, std::int64_t channels, DType dtype);

    std::int64_t capacity() const { return values.dim(2); }

    // Appends the keys and values of the T new positions of qkv (B, T, 3C). Throws Error if they do not fit.
    void append(const Tensor& qkv);

    // Attention of the last `count` positions, appended before, to every position up to themselves. qkv: (B, T, 3C), the
    // queries of the last T >= count positions.
    //   out = softmax(q k^T / sqrt(D)) v per head  ->  (B, count, C)
    // Each position is computed by itself, in the same way however many are asked for.
    Tensor attend_last(const Tensor& qkv, std::int64_t count) const;

    // Appends qkv (B, T, 3C) and lets each new position attend to every one up to itself  ->  (B, T, C).
    // Throws Error if the cache is full.
    Tensor attend(const Tensor& qkv);
  };

  std::vector<Layer> layers;

  KvCache() = default;
  KvCache(std::int64_t n_layer, std::int64_t batch, std::int64_t heads, std::int64_t capacity,
          std::int64_t channels, DType dtype);

  std::int64_t length() const { return layers.empty() ? 0 : layers[0].length; }
  std::int64_t capacity() const { return layers.empty() ? 0 : layers[0].capacity(); }
  void clear() {
    for (Layer& layer : layers) layer.length = 0;
  }
};

}  // namespace minigpt
