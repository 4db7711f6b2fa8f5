#pragma once
// Applying a dropout mask (tensor/dropout_mask.h makes them).

#include "tensor/tensor.h"

namespace minigpt {

// Throws Error in the name of `op` unless p is in [0, 1] and keep_bits are int32 words for n elements; for p of 0
// and 1 they may be undefined.
void check_dropout_mask(std::string_view op, const Tensor& keep_bits, double p, std::int64_t n);

// y_i = x_i / (1 - p) where bit i of the mask is set, else 0; i counts row-major, whatever the layout of x.
// x: float32 or float64   keep_bits: int32 (mask_words(numel)), bit i % 32 of word i / 32   ->   y: x's shape
// The factor is 1 / (1 - p) rounded to x's type, as in PyTorch, and a dropped element becomes x_i * 0: NaN and
// infinity stay visible. p = 0 gives x itself, p = 1 zeros. Throws Error as check_dropout_mask.
Tensor apply_dropout(const Tensor& x, const Tensor& keep_bits, double p);

}  // namespace minigpt
