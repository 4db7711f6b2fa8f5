#pragma once
// Putting tensors together.

#include <vector>

#include "tensor/tensor.h"

namespace minigpt {

// Tensors one after the other along an existing axis: (2, 3) and (4, 3) along axis 0 -> (6, 3).
// Throws Error unless there is at least one, all of one type, and all shapes agree except on that axis.
Tensor concat(const std::vector<Tensor>& tensors, int axis = 0);

// Tensors of one shape along a new axis: k tensors (2, 3) along axis 0 -> (k, 2, 3).
// The axis counts in the result; throws Error unless all shapes and types agree.
Tensor stack(const std::vector<Tensor>& tensors, int axis = 0);

}  // namespace minigpt
