#pragma once
// triu: the upper triangle of a matrix.

#include "autograd/record.h"
#include "tensor/triangle.h"

namespace minigpt {

// y[.., i, j] = x[.., i, j] where j >= i + diagonal, else 0.        dx = the same triangle of dy
inline Variable triu(const Variable& x, std::int64_t diagonal = 0) {
  return record("triu", triu(x.value(), diagonal), {x}, save(),
                [diagonal](const Saved&, const Variable& dy) { return Grads{triu(dy, diagonal)}; });
}

}  // namespace minigpt
