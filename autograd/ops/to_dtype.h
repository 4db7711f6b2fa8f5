#pragma once
// to_dtype: the same numbers in another floating type.

#include "autograd/record.h"

namespace minigpt {

// y = x rounded to float32 or widened to float64.        dx = dy in the type of x
inline Variable to_dtype(const Variable& x, DType dtype) {
  check(is_floating(dtype) || !x.requires_grad(), "to_dtype",
        "only float32 and float64 carry a gradient, not {}", name_of(dtype));
  const DType from = x.dtype();
  return record("to_dtype", x.value().to(dtype), {x}, save(),
                [from](const Saved&, const Variable& dy) { return Grads{to_dtype(dy, from)}; });
}

}  // namespace minigpt
