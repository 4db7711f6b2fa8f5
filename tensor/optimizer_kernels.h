#pragma once
// Optimiser updates on plain memory, in one pass: every number is read and written once.

#include <cstdint>
#include <span>

namespace minigpt {

// One step of Adam or AdamW. Plain doubles: 1 - beta is formed before it is rounded to float, as PyTorch does.
struct AdamStep {
  double lr = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0;
  double bias_correction1 = 1;  // 1 - beta1^t at step t = 1, 2, ...
  double bias_correction2 = 1;  // 1 - beta2^t
  double grad_scale = 1;        // gradients are multiplied by it first: the factor of norm clipping
  bool decoupled = true;        // AdamW: the decay shrinks the weight. Adam: it is added to the gradient.
};

// Updates one parameter w and its moments m, v, all of n elements, from the gradient g (Kingma and Ba 2015,
// algorithm 1; Loshchilov and Hutter 2019, algorithm 2). In the order of PyTorch 1.13:
//   g = g * grad_scale;   AdamW: w = w * (1 - lr * weight_decay)   Adam: g = g + weight_decay * w
//   m = beta1 * m + (1 - beta1) * g;   v = beta2 * v + (1 - beta2) * g * g
//   w = w - (lr / bias_correction1) * m / (sqrt(v) / sqrt(bias_correction2) + eps)
// T is float or double. Large parameters are split over threads; elements do not depend on each other.
template <class T>
void adamw_step(T* w, const T* g, T* m, T* v, std::int64_t n, const AdamStep& step);

// One parameter of adamw_steps.
template <class T>
struct AdamTask {
  T* w;
  const T* g;
  T *m, *v;
  std::int64_t n;
  AdamStep step;
};

// adamw_step of every task, in one pass: all parameters together are split over threads, so that many small ones cost
// no more than one large one. The results are the same.
template <class T>
void adamw_steps(std::span<const AdamTask<T>> tasks);

}  // namespace minigpt
