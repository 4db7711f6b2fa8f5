#pragma once
// Sine and cosine: each other's derivative, so they share a header.

#include "autograd/ops/mul.h"
#include "autograd/ops/neg.h"
#include "tensor/elementwise.h"

namespace minigpt {

Variable cos(const Variable& x);

// y = sin(x), x in radians.        dx = dy * cos(x)
inline Variable sin(const Variable& x) {
  return record("sin", sin(x.value()), {x}, save(input(0)),
                [](const Saved& s, const Variable& dy) { return Grads{dy * cos(s.input(0))}; });
}

// y = cos(x), x in radians.        dx = -dy * sin(x)
inline Variable cos(const Variable& x) {
  return record("cos", cos(x.value()), {x}, save(input(0)),
                [](const Saved& s, const Variable& dy) { return Grads{-dy * sin(s.input(0))}; });
}

}  // namespace minigpt
