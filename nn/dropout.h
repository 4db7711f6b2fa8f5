#pragma once
// Dropout: while training, zeroes each element with probability p and scales the others by 1/(1 - p), so that
// the expected value stays the same: at p = 0.2, kept values are multiplied by 1.25 (Srivastava et al. 2014).

#include "autograd/ops/dropout.h"
#include "nn/dropout_stream.h"
#include "nn/module.h"

namespace minigpt {

struct Dropout : Module {
  double p = 0;

  Dropout() = default;
  explicit Dropout(double probability) : p(probability) {
    check(p >= 0 && p <= 1, "dropout", "p must be in [0, 1], got {}", p);
  }

  template <class V>
  void visit(V&&) {}

  // x unchanged outside training or at p = 0, without drawing anything.
  Variable forward(const Variable& x, const Mode& mode) const {
    const Scope scope(path);
    if (!mode.training || p == 0) return x;
    return dropout(x, draw(x.shape(), mode));
  }

  // The mask for a tensor of this shape, for ops that apply it inside.
  DropoutMask draw(const Shape& shape, const Mode& mode) const {
    check(mode.dropout != nullptr, "dropout", "training with p = {} needs a DropoutStream in the Mode", p);
    return mode.dropout->next(shape, p);
  }
};

}  // namespace minigpt
