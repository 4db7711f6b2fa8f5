#include "tensor/reduce.h"

#include <algorithm>
#include <atomic>

#include "tensor/dispatch.h"
#include "tensor/reduce_plan.h"
#include "tensor/views.h"

namespace minigpt {
namespace {

using detail::make_plan;
using detail::reduce_rows;
using detail::ReducePlan;
using Int = std::int32_t;

// Columns are handed out in blocks of this many: four cache lines of floats.
constexpr std::int64_t kColumns = 64;

constexpr auto kPlus = [](auto a, auto b) { return a + b; };

// sum / divisor in floating point.
template <class T>
Tensor sum_floating(const ReducePlan& plan, double divisor) {
  if (plan.n == 1) return reshape(plan.x.clone(), plan.shape);
  Tensor out = Tensor::empty(plan.shape, dtype_of<T>);
  if (out.numel() == 0) return out;
  const T* x = plan.x.data<T>();
  T* y = out.mutable_data<T>();
  const ReduceKernels<T>& kernel = kernels<T>().reduce;
  if (plan.inner == 1) {
    reduce_rows<T, double>(
        x, plan.outer, plan.n,
        [&](const T* p, std::int64_t n, std::int64_t, std::int64_t) { return kernel.sum(p, n); }, kPlus,
        [&](std::int64_t r, double total) { y[r] = static_cast<T>(total / divisor); });
    return out;
  }
  const std::int64_t blocks = (plan.inner + kColumns - 1) / kColumns;
  const std::int64_t work = std::max<std::int64_t>(plan.n, 1) * std::min(plan.inner, kColumns);
  parallel_for(plan.outer * blocks, std::max<std::int64_t>(1, detail::kElementGrain / work),
               [&](std::int64_t begin, std::int64_t end) {
                 // As many neighbouring blocks at once as belong to one matrix: rows are then read in longer
                 // runs.
                 while (begin < end) {
                   const std::int64_t o = begin / blocks;
                   const std::int64_t stop = std::min(end, (o + 1) * blocks);
                   const std::int64_t first = (begin - o * blocks) * kColumns;
                   const std::int64_t columns = std::min(plan.inner, (stop - o * blocks) * kColumns) - first;
                   kernel.sum_columns(x + o * plan.n * plan.inner + first, plan.n, plan.inner, divisor,
                                      y + o * plan.inner + first, columns);
                   begin = stop;
                 }
               });
  return out;
}

template <class T>
Tensor sum_integers(const ReducePlan& plan) {
  Tensor out = Tensor::empty(plan.shape, DType::i32);
  const T* x = plan.x.data<T>();
  Int* y = out.mutable_data<Int>();
  reduce_rows<T, std::int64_t>(
      x, plan.outer, plan.n,
      [](const T* p, std::int64_t n, std::int64_t, std::int64_t) {
        std::int64_t total = 0;
        for (std::int64_t i = 0; i < n; ++i) total += p[i];
        return total;
      },
      kPlus,
      [&](std::int64_t r, std::int64_t total) {
        check(total == static_cast<Int>(total), "sum", "the total {} does not fit int32", total);
        y[r] = static_cast<Int>(total);
      });
  return out;
}

}  // namespace

Tensor sum(const Tensor& x, const Dims& axes, bool keepdim) {
  const ReducePlan plan = make_plan("sum", x, axes, keepdim, !is_floating(x.dtype()));
  if (x.dtype() == DType::f32) return sum_floating<float>(plan, 1);
  if (x.dtype() == DType::f64) return sum_floating<double>(plan, 1);
  return x.dtype() == DType::i32 ? sum_integers<Int>(plan) : sum_integers<bool>(plan);
}

Tensor mean(const Tensor& x, const Dims& axes, bool keepdim) {
  return visit_floating("mean", x.dtype(), [&](auto zero) {
    const ReducePlan plan = make_plan("mean", x, axes, keepdim, false);
    return sum_floating<decltype(zero)>(plan, static_cast<double>(plan.n));
  });
}

Tensor var(const Tensor& x, const Dims& axes, double correction, bool keepdim) {
  return visit_floating("var", x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const ReducePlan plan = make_plan("var", x, axes, keepdim, true);
    // Two passes: the mean first. sum(x^2) - n mean^2 would cancel away the digits that matter.
    const Tensor centers = sum_floating<T>(plan, static_cast<double>(plan.n));
    Tensor out = Tensor::empty(plan.shape, x.dtype());
    const T* center = centers.data<T>();
    T* y = out.mutable_data<T>();
    const double divisor = std::max(0.0, static_cast<double>(plan.n) - correction);
    reduce_rows<T, double>(
        plan.x.data<T>(), numel(plan.shape), plan.n,
        [&](const T* p, std::int64_t n, std::int64_t r, std::int64_t) {
          return kernels<T>().reduce.sum_squared_deviations(p, center[r], n);
        },
        kPlus, [&](std::int64_t r, double total) { y[r] = static_cast<T>(total / divisor); });
    return out;
  });
}

Tensor sum_to(const Tensor& x, const Shape& shape) {
  if (x.shape() == shape) return x;
  const int added = x.rank() - shape.size();
  bool fits = added >= 0;
  Dims axes;
  for (int i = 0; fits && i < x.rank(); ++i) {
    const std::int64_t extent = i < added ? 1 : shape[i - added];
    fits = extent == x.shape()[i] || extent == 1;
    if (extent != x.shape()[i]) axes.push_back(i);
  }
  check(fits, "sum_to", "{} does not broadcast to {}", shape, x.shape());
  return reshape(axes.empty() ? x : sum(x, axes, true), shape);
}

double sum_of_squares(const Tensor& x) {
  return visit_floating("sum_of_squares", x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const Tensor flat = x.contiguous();
    double result = 0;
    reduce_rows<T, double>(
        flat.data<T>(), 1, flat.numel(),
        [](const T* p, std::int64_t n, std::int64_t, std::int64_t) {
          return kernels<T>().reduce.sum_of_squares(p, n);
        },
        kPlus, [&](std::int64_t, double total) { result = total; });
    return result;
  });
}

bool all_finite(const Tensor& x) {
  if (!is_floating(x.dtype())) return true;
  return visit_floating("all_finite", x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const Tensor flat = x.contiguous();
    const T* p = flat.data<T>();
    std::atomic<bool> finite{true};
    parallel_for(flat.numel(), detail::kElementGrain, [&](std::int64_t begin, std::int64_t end) {
      if (!kernels<T>().reduce.all_finite(p + begin, end - begin))
        finite.store(false, std::memory_order_relaxed);
    });
    return finite.load();
  });
}

}  // namespace minigpt
