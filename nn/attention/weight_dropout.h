#pragma once
// Dropout on attention weights: while training, a query now and then loses sight of a key it relies on.

#include "nn/dropout.h"

namespace minigpt {

// The mask for the weights (..., T, S) of queries q (..., T, D) looking at keys k (..., S, D), one bit for each weight;
// none outside training and at p = 0.
inline DropoutMask weight_dropout(const Dropout& dropout, const Variable& q, const Variable& k,
                                  const Mode& mode) {
  if (!mode.training || dropout.p == 0) return {};
  Shape shape(q.shape().begin(), q.shape().end() - 1);
  shape.push_back(k.dim(-2));
  return dropout.draw(shape, mode);
}

}  // namespace minigpt
