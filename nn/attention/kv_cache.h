#pragma once
// The key/value cache: what makes generating a token cost one position instead of the whole context.
//
// Keys and values of past positions never change in a causal model, because no position sees a later one.
// They are kept, so a new token needs only its own query, key and value.

#include <vector>

#include "tensor/tensor.h"

namespace minigpt {

struct KvCache {
  // Keys and values of one layer, (B, capacity, C) each; the first `length` positions are filled.
  struct Layer {
    Tensor keys, values;
    std::int64_t length = 0;

    // Appends the T new positions of qkv (B, T, 3C) and lets each attend to every position up to itself:
    //   out = softmax(q k^T / sqrt(D)) v per head  ->  (B, T, C)
    // No mask is needed when T = 1: everything in the cache is past. Throws Error if the cache is full.
    Tensor attend(const Tensor& qkv, std::int64_t heads);
  };

  std::vector<Layer> layers;

  KvCache() = default;
  KvCache(std::int64_t n_layer, std::int64_t batch, std::int64_t capacity, std::int64_t channels,
          DType dtype);

  std::int64_t length() const { return layers.empty() ? 0 : layers[0].length; }
  std::int64_t capacity() const { return layers.empty() ? 0 : layers[0].keys.dim(1); }
  void clear() {
    for (Layer& layer : layers) layer.length = 0;
  }
};

}  // namespace minigpt
