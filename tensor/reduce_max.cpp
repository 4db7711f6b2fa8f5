// The part of reduce.h that looks for extremes.

#include <algorithm>
#include <limits>
#include <type_traits>

#include "tensor/dispatch.h"
#include "tensor/reduce.h"
#include "tensor/reduce_plan.h"

namespace minigpt {
namespace {

using detail::reduce_rows;
using detail::ReducePlan;
using Int = std::int32_t;

// A value and where it stands in its row.
template <class T>
struct Found {
  T value;
  std::int64_t index;
};

template <class T>
Found<T> largest(const T* x, std::int64_t n) {
  if constexpr (std::is_floating_point_v<T>) {
    const ReduceKernels<T>& kernel = kernels<T>().reduce;
    const T value = kernel.max(x, n);
    return {value, kernel.find(x, value, n)};
  } else {
    const T* best = std::max_element(x, x + n);
    return {*best, best - x};
  }
}

// A later value wins if it is larger, or the first NaN.
template <class T>
bool beats(T later, T earlier) {
  return later > earlier || (later != later && earlier == earlier);
}

ReducePlan extreme_plan(std::string_view op, const Tensor& x, const Dims& axes, bool keepdim) {
  check(x.dtype() != DType::boolean, op, "needs float32, float64 or int32, got bool");
  ReducePlan plan = detail::make_plan(op, x, axes, keepdim, true);
  check(plan.n > 0 || numel(plan.shape) == 0, op, "no elements along axes {} of shape {}",
        normalize_axes(op, axes, x.rank()), x.shape());
  return plan;
}

// Calls fn(row, Found) for each row.
template <class T, class Fn>
void find_largest(const ReducePlan& plan, Fn fn) {
  if (numel(plan.shape) == 0) return;
  reduce_rows<T, Found<T>>(
      plan.x.data<T>(), plan.outer, plan.n,
      [](const T* p, std::int64_t n, std::int64_t, std::int64_t start) {
        Found<T> found = largest(p, n);
        found.index += start;
        return found;
      },
      [](Found<T> a, Found<T> b) { return beats(b.value, a.value) ? b : a; }, fn);
}

// Calls fn with a value of the type of x: float, double or int32.
template <class Fn>
void visit_number(const Tensor& x, Fn fn) {
  if (x.dtype() == DType::f32) return fn(float{});
  if (x.dtype() == DType::f64) return fn(double{});
  fn(Int{});
}

Int int_index(std::string_view op, std::int64_t index) {
  check(index <= std::numeric_limits<Int>::max(), op, "index {} does not fit int32", index);
  return static_cast<Int>(index);
}

}  // namespace

Tensor max(const Tensor& x, const Dims& axes, bool keepdim) {
  const ReducePlan plan = extreme_plan("max", x, axes, keepdim);
  Tensor out = Tensor::empty(plan.shape, x.dtype());
  visit_number(x, [&](auto zero) {
    using T = decltype(zero);
    T* y = out.mutable_data<T>();
    find_largest<T>(plan, [&](std::int64_t r, Found<T> found) { y[r] = found.value; });
  });
  return out;
}

Tensor min(const Tensor& x, const Dims& axes, bool keepdim) {
  const ReducePlan plan = extreme_plan("min", x, axes, keepdim);
  Tensor out = Tensor::empty(plan.shape, x.dtype());
  if (out.numel() == 0) return out;
  visit_number(x, [&](auto zero) {
    using T = decltype(zero);
    T* y = out.mutable_data<T>();
    reduce_rows<T, T>(
        plan.x.data<T>(), plan.outer, plan.n,
        [](const T* p, std::int64_t n, std::int64_t, std::int64_t) {
          if constexpr (std::is_floating_point_v<T>)
            return kernels<T>().reduce.min(p, n);
          else
            return *std::min_element(p, p + n);
        },
        [](T a, T b) { return b < a || (b != b && a == a) ? b : a; },
        [&](std::int64_t r, T value) { y[r] = value; });
  });
  return out;
}

Tensor argmax(const Tensor& x, const Dims& axes, bool keepdim) {
  const ReducePlan plan = extreme_plan("argmax", x, axes, keepdim);
  Tensor out = Tensor::empty(plan.shape, DType::i32);
  Int* y = out.mutable_data<Int>();
  visit_number(x, [&](auto zero) {
    using T = decltype(zero);
    find_largest<T>(plan, [&](std::int64_t r, Found<T> found) { y[r] = int_index("argmax", found.index); });
  });
  return out;
}

MaxAlong max_along(const Tensor& x, int axis, bool keepdim) {
  const ReducePlan plan = extreme_plan("max_along", x, {axis}, keepdim);
  MaxAlong out{Tensor::empty(plan.shape, x.dtype()), Tensor::empty(plan.shape, DType::i32)};
  Int* indices = out.indices.mutable_data<Int>();
  visit_number(x, [&](auto zero) {
    using T = decltype(zero);
    T* values = out.values.mutable_data<T>();
    find_largest<T>(plan, [&](std::int64_t r, Found<T> found) {
      values[r] = found.value;
      indices[r] = int_index("max_along", found.index);
    });
  });
  return out;
}

}  // namespace minigpt
