#pragma once
// Tensors as text.

#include <string>

#include "tensor/tensor.h"

namespace minigpt {

// x as PyTorch would print it, with its default options:
//
//   tensor([[0.1000, 2.0000],
//           [3.0000, 4.0000]])
//   tensor([1, 2, 3], dtype=torch.int32)
//
// Four decimals; scientific notation where the nonzero magnitudes span more than 1000 to 1, exceed 1e8 or
// fall below 1e-4; whole floats as "2."; equal widths in all columns; lines of at most 80 characters. Tensors
// of more than 1000 elements show three at each end of an axis. float64 and int32 are named, float32 and bool
// go without saying. An undefined tensor gives "tensor(undefined)".
std::string to_string(const Tensor& x);

}  // namespace minigpt
