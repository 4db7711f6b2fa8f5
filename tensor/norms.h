#pragma once
// Layer normalisation and RMS normalisation over the last dimension.
//
// x is (..., C), float32 or float64, in any layout. weight and bias are (C) of the same type; an undefined
// Tensor() stands for "none" (weight 1, bias 0). Per-row results are (...), the shape of x without C.
// Everything here throws Error on other shapes or types, and on eps < 0.

#include "tensor/tensor.h"

namespace minigpt {

struct LayerNormOutput {
  Tensor y;     // (..., C)
  Tensor mean;  // (...)
  Tensor rstd;  // (...): 1 / sqrt(variance + eps)
};

// Shifts and scales each row to mean 0 and variance 1, then applies weight and bias (Ba, Kiros, Hinton 2016,
// "Layer Normalization", section 3).
//   y = (x - mean) / sqrt(var + eps) * weight + bias,   var = mean((x - mean)^2)
// A row of equal numbers gives exactly the bias, however large they are.
LayerNormOutput layer_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, double eps);

struct ResidualLayerNormOutput {
  Tensor sum;            // x + branch
  LayerNormOutput norm;  // of sum
};

// Adds a branch to the residual stream and normalises the sum, in one pass over memory. x and branch have one
// shape and type.   sum = x + branch,   norm = layer_norm(sum)
ResidualLayerNormOutput residual_layer_norm(const Tensor& x, const Tensor& branch, const Tensor& weight,
                                            const Tensor& bias, double eps);

struct LayerNormGradients {
  Tensor dx;       // (..., C)
  Tensor dweight;  // (C)
  Tensor dbias;    // (C)
};

// Gradients of layer_norm, from what the forward pass returned. With h = (x - mean) * rstd, g = dy * weight:
//   dx = rstd * (g - mean(g) - h * mean(g * h)),   dweight = sum_rows dy * h,   dbias = sum_rows dy
// dweight and dbias are computed also where the forward pass had none.
LayerNormGradients layer_norm_backward(const Tensor& x, const Tensor& mean, const Tensor& rstd,
                                       const Tensor& weight, const Tensor& dy);

struct RmsNormOutput {
  Tensor y;     // (..., C)
  Tensor rrms;  // (...): 1 / sqrt(mean(x^2) + eps)
};

// Scales each row to a root mean square of 1, then applies the weight (Zhang, Sennrich 2019, "Root Mean
// Square Layer Normalization", section 3).
//   y = x / sqrt(mean(x^2) + eps) * weight
RmsNormOutput rms_norm(const Tensor& x, const Tensor& weight, double eps);

struct ResidualRmsNormOutput {
  Tensor sum;          // x + branch
  RmsNormOutput norm;  // of sum
};

// As residual_layer_norm.   sum = x + branch,   norm = rms_norm(sum)
ResidualRmsNormOutput residual_rms_norm(const Tensor& x, const Tensor& branch, const Tensor& weight,
                                        double eps);

struct RmsNormGradients {
  Tensor dx;       // (..., C)
  Tensor dweight;  // (C)
};

// Gradients of rms_norm. With h = x * rrms, g = dy * weight:
//   dx = rrms * (g - h * mean(g * h)),   dweight = sum_rows dy * h
RmsNormGradients rms_norm_backward(const Tensor& x, const Tensor& rrms, const Tensor& weight,
                                   const Tensor& dy);

// The same for the heads of queries and keys, without a weight: each D = C / heads numbers of the first 2C columns are
// scaled to a root mean square of 1, and the values (the last C columns) copied.
// qkv: (B, T, 3C)   ->   y: (B, T, 3C), rrms: (B, T, 2 heads)
RmsNormOutput qk_norm(const Tensor& qkv, std::int64_t heads, double eps);
// dqkv, from what qk_norm returned: the formula of rms_norm_backward in every head; values pass.
Tensor qk_norm_backward(const Tensor& qkv, const Tensor& rrms, const Tensor& dy);

}  // namespace minigpt
