#include "tensor/loss.h"

#include "tensor/dispatch.h"
#include "tensor/parallel.h"
#include "tensor/rows.h"

namespace minigpt {
namespace {

struct Operands {
  detail::Rows logits;
  Tensor targets;
  std::int64_t counted = 0;
};

Operands check_operands(std::string_view op, const Tensor& logits, const Tensor& targets,
                        std::int32_t ignore_index) {
  check(logits.defined() && targets.defined(), op, "logits or targets are undefined");
  check(logits.rank() == 2, op, "logits must be (N, V), got {}", logits.shape());
  check(targets.shape() == Shape{logits.shape()[0]}, op, "targets must be ({}) for logits {}, got {}",
        logits.shape()[0], logits.shape(), targets.shape());
  check(targets.dtype() == DType::i32, op, "targets must be int32, got {}", name_of(targets.dtype()));
  Operands out{detail::rows_of(op, logits), targets.contiguous()};
  const std::int32_t* t = out.targets.data<std::int32_t>();
  const std::int64_t classes = logits.shape()[1];
  for (std::int64_t i = 0; i < targets.numel(); ++i) {
    if (t[i] == ignore_index) continue;
    check(t[i] >= 0 && t[i] < classes, op,
          "target {} at position {} is outside [0, {}) and is not the ignored value {}", t[i], i, classes,
          ignore_index);
    ++out.counted;
  }
  return out;
}

}  // namespace

CrossEntropyOutput cross_entropy(const Tensor& logits, const Tensor& targets, std::int32_t ignore_index) {
  constexpr auto kOp = "cross_entropy";
  const Operands in = check_operands(kOp, logits, targets, ignore_index);
  return visit_floating(kOp, logits.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const std::int64_t rows = logits.shape()[0], length = in.logits.length;
    CrossEntropyOutput out{zeros({rows}, logits.dtype()), zeros({rows, 2}, logits.dtype()), in.counted};
    const auto kernel = kernels<T>().loss.cross_entropy;
    const T* x = in.logits.tensor.data<T>();
    const std::int32_t* t = in.targets.data<std::int32_t>();
    T* losses = out.losses.template mutable_data<T>();
    T* stats = out.log_sum_exp.template mutable_data<T>();
    parallel_for(in.logits.count, in.logits.grain(), [&](std::int64_t begin, std::int64_t end) {
      kernel(x + begin * length, t + begin, ignore_index, losses + begin, stats + begin * 2, end - begin,
             length);
    });
    return out;
  });
}

Tensor cross_entropy_backward(const Tensor& logits, const Tensor& targets, const Tensor& log_sum_exp,
                              const Tensor& dloss, std::int32_t ignore_index) {
  constexpr auto kOp = "cross_entropy_backward";
  const Operands in = check_operands(kOp, logits, targets, ignore_index);
  const std::int64_t rows = logits.shape()[0], length = in.logits.length;
  check(log_sum_exp.defined() && log_sum_exp.shape() == Shape{rows, 2}, kOp,
        "log_sum_exp must be ({}, 2), got {}", rows, log_sum_exp.shape());
  check(dloss.defined() && (dloss.rank() == 0 || dloss.shape() == Shape{rows}), kOp,
        "dloss must be ({}) or (), got {}", rows, dloss.shape());
  const Tensor saved = log_sum_exp.contiguous(), upstream = dloss.contiguous();
  return visit_floating(kOp, logits.dtype(), [&](auto zero) {
    using T = decltype(zero);
    Tensor dlogits = Tensor::empty(logits.shape(), logits.dtype());
    const auto kernel = kernels<T>().loss.cross_entropy_backward;
    const T* x = in.logits.tensor.data<T>();
    const std::int32_t* t = in.targets.data<std::int32_t>();
    const T *stats = saved.data<T>(), *d = upstream.data<T>();
    const std::int64_t step = dloss.rank() == 0 ? 0 : 1;
    T* dx = dlogits.mutable_data<T>();
    parallel_for(in.logits.count, in.logits.grain(), [&](std::int64_t begin, std::int64_t end) {
      const std::int64_t at = begin * length;
      kernel(x + at, t + begin, ignore_index, stats + begin * 2, d + begin * step, step, dx + at, end - begin,
             length);
    });
    return dlogits;
  });
}

}  // namespace minigpt
