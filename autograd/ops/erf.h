#pragma once
// Error function: the cumulative normal distribution in other units, part of the exact GELU.

#include <numbers>

#include "autograd/ops/exp.h"
#include "autograd/ops/neg.h"
#include "tensor/elementwise.h"

namespace minigpt {

// y = erf(x) = 2 / sqrt(pi) * integral of e^(-t^2) over t from 0 to x.
// dx = dy * 2 / sqrt(pi) * e^(-x^2)
inline Variable erf(const Variable& x) {
  return record("erf", erf(x.value()), {x}, save(input(0)), [](const Saved& s, const Variable& dy) {
    const Variable z = s.input(0);
    return Grads{dy * (exp(-(z * z)) * (2 * std::numbers::inv_sqrtpi))};
  });
}

}  // namespace minigpt
