#include "tensor/optimizer_kernels.h"

#include <algorithm>
#include <cmath>

#include "tensor/dispatch.h"
#include "tensor/parallel.h"

namespace minigpt {

namespace {

template <class T>
AdamConstants<T> constants_of(const AdamStep& s) {
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
  return c;
}

}  // namespace

template <class T>
void adamw_step(T* w, const T* g, T* m, T* v, std::int64_t n, const AdamStep& s) {
  const AdamTask<T> task{w, g, m, v, n, s};
  adamw_steps<T>({&task, 1});
}

template <class T>
void adamw_steps(std::span<const AdamTask<T>> tasks) {
  std::int64_t total = 0;
  for (const AdamTask<T>& task : tasks) total += task.n;
  const auto kernel = kernels<T>().optimizer.adam;
  constexpr std::int64_t kGrain = 16384;
  // Elements are numbered through all tasks; a range may end one of them and begin the next.
  parallel_for(total, kGrain, [&](std::int64_t begin, std::int64_t end) {
    std::int64_t start = 0;  // of the task
    for (const AdamTask<T>& task : tasks) {
      const std::int64_t first = std::max(begin - start, std::int64_t{0}),
                         last = std::min(end - start, task.n);
      if (first < last)
        kernel(task.w + first, task.g + first, task.m + first, task.v + first, last - first,
               constants_of<T>(task.step));
      start += task.n;
      if (start >= end) break;
    }
  });
}

template void adamw_step(float*, const float*, float*, float*, std::int64_t, const AdamStep&);
template void adamw_step(double*, const double*, double*, double*, std::int64_t, const AdamStep&);
template void adamw_steps(std::span<const AdamTask<float>>);
template void adamw_steps(std::span<const AdamTask<double>>);

}  // namespace minigpt
