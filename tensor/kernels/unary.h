#pragma once
// Elementwise functions of one array, and the backward passes that are worth a kernel of their own.

#include <stdint.h>

namespace minigpt {

// y = f(x) for x, y: (n). y may be x itself.
//
// Far out, where a factor is exactly 0 or 1, infinity counts as that far too: silu, gelu and their gradients
// are never NaN unless an input is (GELU(-inf) = -0, where x * Phi(x) alone would give inf * 0).
template <class T>
struct UnaryKernels {
  using Forward = void (*)(const T* x, T* y, int64_t n);
  using Backward = void (*)(const T* x, const T* dy, T* dx, int64_t n);

  Forward exp;
  Forward log;
  Forward tanh;
  Forward erf;
  Forward sigmoid;  // 1 / (1 + exp(-x))
  Forward sqrt;
  Forward reciprocal;  // 1 / x
  Forward neg;
  Forward abs;
  Forward square;
  Forward relu;       // max(x, 0); NaN stays NaN
  Forward silu;       // x * sigmoid(x)
  Forward gelu_erf;   // x * Phi(x), Phi(x) = (1 + erf(x / sqrt 2)) / 2
  Forward gelu_tanh;  // x * (1 + tanh(u)) / 2, u = sqrt(2 / pi) (x + 0.044715 x^3)

  // dx = dy * f'(x), with the input x of the forward pass. dx may be dy or x.
  Backward relu_backward;  // 0 at x = 0
  Backward silu_backward;
  Backward gelu_erf_backward;
  Backward gelu_tanh_backward;
};

}  // namespace minigpt
