#include "tensor/optimizer_kernels.h"

#include <cmath>

#include "tensor/dispatch.h"
#include "tensor/parallel.h"

namespace minigpt {

template <class T>
void adamw_step(T* w, const T* g, T* m, T* v, std::int64_t n, const AdamStep& s) {
  AdamConstants<T> c;
  c.grad_scale = static_cast<T>(s.grad_scale);
  c.shrink = static_cast<T>(s.decoupled ? 1 - s.lr * s.weight_decay : 1);
  c.l2 = static_cast<T>(s.decoupled ? 0 : s.weight_decay);
  c.beta1 = static_cast<T>(s.beta1);
  c.beta2 = static_cast<T>(s.beta2);
  c.rest1 = static_cast<T>(1 - s.beta1);
  c.rest2 = static_cast<T>(1 - s.beta2);
  c.root_correction2 = static_cast<T>(std::sqrt(s.bias_correction2));
  c.eps = static_cast<T>(s.eps);
  c.step = static_cast<T>(-(s.lr / s.bias_correction1));
  const auto kernel = kernels<T>().optimizer.adam;
  constexpr std::int64_t kGrain = 16384;
  parallel_for(n, kGrain, [&](std::int64_t begin, std::int64_t end) {
    kernel(w + begin, g + begin, m + begin, v + begin, end - begin, c);
  });
}

template void adamw_step(float*, const float*, float*, float*, std::int64_t, const AdamStep&);
template void adamw_step(double*, const double*, double*, double*, std::int64_t, const AdamStep&);

}  // namespace minigpt
