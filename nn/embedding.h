#pragma once
// Embedding: a table of learned vectors, one per symbol or position.

#include "autograd/ops/embedding.h"
#include "nn/init.h"
#include "nn/module.h"

namespace minigpt {

// y[...] = weight[index[...]].   index: int32, any shape   weight: (rows, C)   ->   y: index.shape + (C)
struct Embedding : Module {
  Variable weight;

  Embedding() = default;
  // N(0, 1), as PyTorch.
  Embedding(std::int64_t rows, std::int64_t width, Generator& rng)
      : weight(Tensor::empty({rows, width}), true) {
    init::normal_(weight, 0, 1, rng);
  }

  template <class V>
  void visit(V&& v) {
    v("weight", weight);
  }

  Variable forward(const Tensor& index) const {
    const Scope scope(path);
    return embedding(weight, index);
  }
};

}  // namespace minigpt
