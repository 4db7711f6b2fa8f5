#pragma once
// The end of one branch of a transformer block and the start of the next: add, then normalise, in one pass over
// memory.

#include "autograd/ops/add.h"
#include "autograd/ops/layer_norm.h"
#include "autograd/ops/rms_norm.h"

namespace minigpt {

struct ResidualNorm {
  Variable sum;     // the residual stream goes on with it
  Variable normed;  // what the next branch starts from
};

// sum = x + branch,   normed = layer_norm(sum).   x, branch, sum, normed: (..., C)   weight, bias: (C), or undefined
// Only the forward pass is fused: the two results are recorded as the two operations they are, with their
// gradients. Throws Error where shapes or types differ.
inline ResidualNorm residual_layer_norm(const Variable& x, const Variable& branch, const Variable& weight,
                                        const Variable& bias, double eps = 1e-5) {
  ResidualLayerNormOutput f =
      residual_layer_norm(x.value(), branch.value(), weight.defined() ? weight.value() : Tensor(),
                          bias.defined() ? bias.value() : Tensor(), eps);
  const Variable sum = detail::record_add(x, branch, std::move(f.sum));
  return {sum, detail::record_layer_norm(sum, weight, bias, eps, std::move(f.norm))};
}

// sum = x + branch,   normed = rms_norm(sum).   As residual_layer_norm.
inline ResidualNorm residual_rms_norm(const Variable& x, const Variable& branch, const Variable& weight,
                                      double eps = 1e-5) {
  ResidualRmsNormOutput f =
      residual_rms_norm(x.value(), branch.value(), weight.defined() ? weight.value() : Tensor(), eps);
  const Variable sum = detail::record_add(x, branch, std::move(f.sum));
  return {sum, detail::record_rms_norm(sum, weight, eps, std::move(f.norm))};
}

}  // namespace minigpt
