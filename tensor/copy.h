#pragma once
// Copying between any two layouts and types: the one place that walks arbitrary strides.

#include "tensor/tensor.h"

namespace minigpt {

// out[i] = source[i] converted to out's type, for tensors of equal shape and any strides. float -> int cuts
// off the fraction; anything -> bool is value != 0. Does not raise out's version (the caller does where it
// matters).
void copy_elements(const Tensor& source, Tensor& out);

// Throws Error if one element of y shows up at several indices (a view made by expand): written in place, it would
// get one of several values, by chance.
void check_no_repetition(std::string_view op, const Tensor& y);

}  // namespace minigpt
