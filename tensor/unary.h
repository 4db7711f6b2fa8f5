#pragma once
// Functions of each element of one tensor.
//
// x may have any layout; the result has x's shape and type and is row-major. All need float32 or float64 and
// throw Error("[exp] needs float32 or float64, got int32") otherwise; neg, abs and relu take int32 as well.
// The vector code behind them, with its accuracy, is tensor/simd/math.h.

#include "tensor/tensor.h"

namespace minigpt {

Tensor exp(const Tensor& x);
// Natural logarithm; -infinity at 0, NaN below.
Tensor log(const Tensor& x);
Tensor tanh(const Tensor& x);
// erf(x) = 2 / sqrt(pi) * integral of exp(-t^2) for t from 0 to x.
Tensor erf(const Tensor& x);
Tensor sin(const Tensor& x);
Tensor cos(const Tensor& x);
// sqrt(x) and 1 / sqrt(x).
Tensor sqrt(const Tensor& x);
Tensor rsqrt(const Tensor& x);
// 1 / x.
Tensor reciprocal(const Tensor& x);
// -x. For int32, -(-2^31) wraps around to -2^31; so does abs.
Tensor neg(const Tensor& x);
Tensor abs(const Tensor& x);
inline Tensor operator-(const Tensor& x) { return neg(x); }

// x^exponent. 0 gives ones and 1 a copy, whatever x is; 2, 3, -1, -2, 0.5 and -0.5 are made of *, / and sqrt
// like in PyTorch, and the others are std::pow, so NaN for a negative x and a fractional exponent.
Tensor pow(const Tensor& x, double exponent);

// 1 / (1 + exp(-x)).
Tensor sigmoid(const Tensor& x);
// max(x, 0); NaN stays NaN.
Tensor relu(const Tensor& x);
// x * sigmoid(x). Elfwing et al. 2018, https://arxiv.org/abs/1702.03118.
Tensor silu(const Tensor& x);
// x * Phi(x), Phi being the distribution function of the standard normal. Hendrycks and Gimpel 2016,
// https://arxiv.org/abs/1606.08415. `erf` computes Phi(x) = (1 + erf(x / sqrt 2)) / 2, and `tanh` the
// approximation (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3))) / 2 that GPT-2 was trained with.
enum class Gelu { erf, tanh };
Tensor gelu(const Tensor& x, Gelu kind = Gelu::erf);

// dx = dy * f'(x), with the x that f was applied to. x and dy have one shape and type. relu'(0) = 0.
Tensor relu_backward(const Tensor& x, const Tensor& dy);
Tensor silu_backward(const Tensor& x, const Tensor& dy);
Tensor gelu_backward(const Tensor& x, const Tensor& dy, Gelu kind = Gelu::erf);

}  // namespace minigpt
