#pragma once
// The activation functions by name, for ops that take one as a parameter.

#include "autograd/ops/gelu.h"
#include "autograd/ops/mul.h"
#include "autograd/ops/relu.h"
#include "autograd/ops/silu.h"
#include "tensor/gemm.h"

namespace minigpt {

// y = f(x).   none: x itself   relu: max(x, 0)   relu_squared: max(x, 0)^2 (So et al. 2021)   silu: x sigmoid(x)
//             gelu_erf, gelu_tanh: the two forms of GELU
inline Variable activate(const Variable& x, Activation f) {
  switch (f) {
    case Activation::none:
      break;
    case Activation::relu:
      return relu(x);
    case Activation::relu_squared: {
      const Variable y = relu(x);
      return y * y;
    }
    case Activation::silu:
      return silu(x);
    case Activation::gelu_erf:
      return gelu(x, Gelu::erf);
    case Activation::gelu_tanh:
      return gelu(x, Gelu::tanh);
  }
  return x;
}

}  // namespace minigpt
