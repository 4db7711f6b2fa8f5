#pragma once
// tril: the lower triangle of a matrix.

#include "autograd/record.h"
#include "tensor/triangle.h"

namespace minigpt {

// y[.., i, j] = x[.., i, j] where j <= i + diagonal, else 0.        dx = the same triangle of dy
inline Variable tril(const Variable& x, std::int64_t diagonal = 0) {
  return record("tril", tril(x.value(), diagonal), {x}, save(),
                [diagonal](const Saved&, const Variable& dy) { return Grads{tril(dy, diagonal)}; });
}

}  // namespace minigpt
