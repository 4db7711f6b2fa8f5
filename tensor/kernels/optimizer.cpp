#include "tensor/kernels/optimizer.h"

#include "tensor/kernels/row_loops.h"

namespace minigpt::MINIGPT_ISA {

// w, g, m, v: (n). The order of operations, and which of them are fused, are those of PyTorch 1.13: on a
// machine with fused multiply-add the result is the same to the last bit.
template <class T>
static void adam(T* w, const T* g, T* m, T* v, int64_t n, const AdamConstants<T>& constants) {
  const AdamConstants<T> c = constants;  // a local copy cannot be changed by the stores below
  for_lanes<T>(n, [&](int64_t i, auto lanes) {
    Vec<T> weight = lanes.load(w + i) * c.shrink;
    Vec<T> gradient = lanes.load(g + i) * c.grad_scale;
    gradient = fma(weight, Vec<T>(c.l2), gradient);
    const Vec<T> first = fma(gradient, Vec<T>(c.rest1), lanes.load(m + i) * c.beta1);
    const Vec<T> second = fma(gradient * c.rest2, gradient, lanes.load(v + i) * c.beta2);
    const Vec<T> denominator = sqrt(second) / c.root_correction2 + c.eps;
    weight += first * c.step / denominator;
    lanes.store(m + i, first);
    lanes.store(v + i, second);
    lanes.store(w + i, weight);
  });
}

template <class T>
static void bind_optimizer(OptimizerKernels<T>& k) {
  k.adam = adam<T>;
}

void bind(OptimizerKernels<float>& k) { bind_optimizer(k); }
void bind(OptimizerKernels<double>& k) { bind_optimizer(k); }

}  // namespace minigpt::MINIGPT_ISA
