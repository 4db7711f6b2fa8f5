#pragma once
// Linear: the learned matrix that all of a transformer is made of.

#include <cmath>

#include "autograd/ops/linear.h"
#include "nn/init.h"
#include "nn/module.h"

namespace minigpt {

// y = x W^T + b.   x: (..., in)   weight W: (out, in)   bias b: (out), or undefined   ->   y: (..., out)
struct Linear : Module {
  Variable weight, bias;

  Linear() = default;
  // Draws as PyTorch's Linear does: the weight, then the bias, both U(-1/sqrt(in), 1/sqrt(in)).
  Linear(std::int64_t in, std::int64_t out, bool with_bias, Generator& rng)
      : weight(Tensor::empty({out, in}), true) {
    init::kaiming_uniform_(weight, std::sqrt(5.0), rng);
    if (!with_bias) return;
    bias = Variable(Tensor::empty({out}), true);
    const double bound = 1.0 / std::sqrt(static_cast<double>(in));
    init::uniform_(bias, -bound, bound, rng);
  }

  template <class V>
  void visit(V&& v) {
    v("weight", weight);
    v("bias", bias);
  }

  Variable forward(const Variable& x) const {
    const Scope scope(path);
    return linear(x, weight, bias);
  }
};

}  // namespace minigpt
