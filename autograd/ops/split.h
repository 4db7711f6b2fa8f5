#pragma once
// split: cuts an axis into consecutive pieces.

#include <vector>

#include "autograd/ops/slice.h"

namespace minigpt {

// Consecutive pieces of the given sizes, which must add up to the extent; views.
// dx = the gradients of the pieces side by side: each piece is a slice, and the engine adds up their shares
inline std::vector<Variable> split(const Variable& x, const std::vector<std::int64_t>& sizes, int axis = 0) {
  const std::vector<Tensor> checked = split(x.value(), sizes, axis);  // throws here, in the name of split
  std::vector<Variable> pieces;
  std::int64_t start = 0;
  for (std::int64_t size : sizes) {
    pieces.push_back(slice(x, axis, start, start + size));
    start += size;
  }
  return pieces;
}

// Consecutive pieces of `size`; the last may be shorter.
inline std::vector<Variable> split(const Variable& x, std::int64_t size, int axis = 0) {
  return split(x, detail::split_sizes(x.dim(axis), size), axis);
}

}  // namespace minigpt
