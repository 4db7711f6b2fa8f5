#include "tensor/kernels/loss.h"

#include "tensor/kernels/softmax_row.h"
#include "tensor/simd/math.h"

namespace minigpt::MINIGPT_ISA {

// logits: (rows, n).   loss = log(sum exp(x - max x)) - (x_target - max x)
template <class T>
static void cross_entropy(const T* logits, const int32_t* targets, int32_t ignore, T* losses, T* stats,
                          int64_t rows, int64_t n) {
  for (int64_t row = 0; row < rows; ++row, logits += n, stats += 2) {
    losses[row] = stats[0] = stats[1] = 0;
    if (targets[row] == ignore) continue;
    const SoftmaxStats<T> s = softmax_stats<T>(logits, n);
    losses[row] = s.log_sum - (logits[targets[row]] - s.shift);
    stats[0] = s.shift;
    stats[1] = s.log_sum;
  }
}

// logits, dlogits: (rows, n).   dlogits_j = (softmax(x)_j - [j == target]) * dloss
template <class T>
static void cross_entropy_backward(const T* logits, const int32_t* targets, int32_t ignore, const T* stats,
                                   const T* dlosses, int64_t step, T* dlogits, int64_t rows, int64_t n) {
  for (int64_t row = 0; row < rows; ++row, logits += n, dlogits += n, stats += 2, dlosses += step) {
    if (targets[row] == ignore) {
      for (int64_t i = 0; i < n; ++i) dlogits[i] = 0;
      continue;
    }
    const T shift = stats[0], log_sum = stats[1];
    for_lanes<T>(n, [&](int64_t i, auto lanes) {
      const Vec<T> p = exp((lanes.load(logits + i) - shift) - log_sum);
      lanes.store(dlogits + i, p * *dlosses);
    });
    dlogits[targets[row]] -= *dlosses;
  }
}

template <class T>
static void bind_loss(LossKernels<T>& k) {
  k.cross_entropy = cross_entropy<T>;
  k.cross_entropy_backward = cross_entropy_backward<T>;
}

void bind(LossKernels<float>& k) { bind_loss(k); }
void bind(LossKernels<double>& k) { bind_loss(k); }

}  // namespace minigpt::MINIGPT_ISA
