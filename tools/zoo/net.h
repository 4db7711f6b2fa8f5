#pragma once
// A small classifier for the faults of operations that a GPT does not use. It is put together so that each of them lies on
// the way of some parameter; what it learns is simple.

#include "nn/module.h"
#include "tensor/generator.h"

namespace minigpt::zoo {

// Points and their classes.
struct NetBatch {
  Tensor x;       // float32 or float64 (N, 8), standard normal
  Tensor kind;    // int32 (N): one of six kinds, which matters for the class
  Tensor target;  // int32 (N): one of four classes; -1 in one row of eight, to be left out of the first loss
};
NetBatch net_batch(std::int64_t n, DType dtype, Generator& rng);

struct Net : Module {
  Variable in_weight, in_bias, gate_weight, gate_bias;  // (16, 8), (16)
  Variable scale, shift;                                // (16)
  Variable left, right, wave;                           // (8, 16)
  Variable table;                                       // (6, 8), a row for each kind
  Variable hidden_weight, hidden_bias;                  // (24, 48), (24)
  Variable out_weight, out_bias;                        // (4, 24), (4)

  explicit Net(Generator& rng);

  template <class V>
  void visit(V&& v) {
    v("in.weight", in_weight);
    v("in.bias", in_bias);
    v("gate.weight", gate_weight);
    v("gate.bias", gate_bias);
    v("scale", scale);
    v("shift", shift);
    v("left", left);
    v("right", right);
    v("wave", wave);
    v("table", table);
    v("hidden.weight", hidden_weight);
    v("hidden.bias", hidden_bias);
    v("out.weight", out_weight);
    v("out.bias", out_bias);
  }

  // A number to be made small: three losses of the same logits (fused, by log-softmax, and by hand) and a penalty.
  Variable loss(const NetBatch& batch) const;
};

}  // namespace minigpt::zoo
