#include "tensor/compare.h"

#include <cmath>
#include <functional>
#include <limits>

#include "tensor/arithmetic.h"
#include "tensor/broadcast.h"
#include "tensor/dispatch.h"

namespace minigpt {
namespace {

using detail::map_rows;
using detail::scalar_as;

// A plain loop over rows, for types without kernels.
template <class T, class Op>
void loop(const T* a, std::int64_t a_step, const T* b, std::int64_t b_step, bool* out, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) out[i] = Op{}(a[i * a_step], b[i * b_step]);
}

// Calls fn(kernel) with the row kernel for the type.
template <class Op, class Pick, class Fn>
Tensor with_kernel(DType dtype, Pick pick, Fn fn) {
  return visit_dtype(dtype, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_floating_point_v<T>)
      return fn(pick(kernels<T>().binary), zero);
    else
      return fn(&loop<T, Op>, zero);
  });
}

template <class Op, class Pick>
Tensor compare(std::string_view op, const Tensor& a, const Tensor& b, Pick pick) {
  detail::check_same_dtype(op, a, b);
  return with_kernel<Op>(a.dtype(), pick, [&](auto kernel, auto zero) {
    return map_rows<decltype(zero), bool>(op, a, b, kernel);
  });
}
template <class Op, class Pick>
Tensor compare(std::string_view op, const Tensor& a, double b, Pick pick) {
  return with_kernel<Op>(a.dtype(), pick, [&](auto kernel, auto zero) {
    using T = decltype(zero);
    return map_rows<T, bool>(a, scalar_as<T>(op, b), kernel);
  });
}

constexpr auto kLess = [](const auto& table) { return table.less; };
constexpr auto kLessEqual = [](const auto& table) { return table.less_equal; };
constexpr auto kEqual = [](const auto& table) { return table.equal; };
constexpr auto kNotEqual = [](const auto& table) { return table.not_equal; };
constexpr auto kGreater = [](const auto& table) { return table.greater; };
constexpr auto kGreaterEqual = [](const auto& table) { return table.greater_equal; };

void check_bool(std::string_view op, std::string_view what, const Tensor& x) {
  check(x.dtype() == DType::boolean, op, "{} must be bool, got {}", what, name_of(x.dtype()));
}

template <class Op>
Tensor logical(std::string_view op, const Tensor& a, const Tensor& b) {
  check_bool(op, "operands", a);
  check_bool(op, "operands", b);
  return map_rows<bool, bool>(op, a, b, loop<bool, Op>);
}

template <class T>
void where_rows(const bool* c, std::int64_t c_step, const T* a, std::int64_t a_step, const T* b,
                std::int64_t b_step, T* out, std::int64_t n) {
  if constexpr (std::is_floating_point_v<T>)
    kernels<T>().binary.where(c, c_step, a, a_step, b, b_step, out, n);
  else
    for (std::int64_t i = 0; i < n; ++i) out[i] = c[i * c_step] ? a[i * a_step] : b[i * b_step];
}

template <class T, class Test>
Tensor test_each(const Tensor& x, Test test) {
  return detail::map_flat<T, bool>(x, [&](const T* in, bool* out, std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) out[i] = test(in[i]);
  });
}

// Also behind masked_fill, whose errors should carry its own name.
Tensor choose(std::string_view op, const Tensor& condition, const Tensor& a, const Tensor& b) {
  const Shape values = broadcast_shapes(op, a.shape(), b.shape());
  Tensor out = Tensor::empty(broadcast_shapes(op, condition.shape(), values), a.dtype());
  if (out.numel() == 0) return out;
  const detail::BroadcastRows<3> rows = detail::make_rows<3>(out.shape(), {&condition, &a, &b});
  visit_dtype(a.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const bool* c = rows.operand(0).data<bool>();
    const T* x = rows.operand(1).data<T>();
    const T* y = rows.operand(2).data<T>();
    T* z = out.mutable_data<T>();
    detail::for_rows(rows, [&](std::int64_t o, const std::array<std::int64_t, 3>& in, std::int64_t n) {
      where_rows(c + in[0], rows.step[0], x + in[1], rows.step[1], y + in[2], rows.step[2], z + o, n);
    });
  });
  return out;
}

}  // namespace

Tensor lt(const Tensor& a, const Tensor& b) { return compare<std::less<>>("lt", a, b, kLess); }
Tensor lt(const Tensor& a, double b) { return compare<std::less<>>("lt", a, b, kLess); }
Tensor le(const Tensor& a, const Tensor& b) { return compare<std::less_equal<>>("le", a, b, kLessEqual); }
Tensor le(const Tensor& a, double b) { return compare<std::less_equal<>>("le", a, b, kLessEqual); }
Tensor eq(const Tensor& a, const Tensor& b) { return compare<std::equal_to<>>("eq", a, b, kEqual); }
Tensor eq(const Tensor& a, double b) { return compare<std::equal_to<>>("eq", a, b, kEqual); }
Tensor ne(const Tensor& a, const Tensor& b) { return compare<std::not_equal_to<>>("ne", a, b, kNotEqual); }
Tensor ne(const Tensor& a, double b) { return compare<std::not_equal_to<>>("ne", a, b, kNotEqual); }
Tensor gt(const Tensor& a, const Tensor& b) { return compare<std::greater<>>("gt", a, b, kGreater); }
Tensor gt(const Tensor& a, double b) { return compare<std::greater<>>("gt", a, b, kGreater); }
Tensor ge(const Tensor& a, const Tensor& b) {
  return compare<std::greater_equal<>>("ge", a, b, kGreaterEqual);
}
Tensor ge(const Tensor& a, double b) { return compare<std::greater_equal<>>("ge", a, b, kGreaterEqual); }

Tensor logical_and(const Tensor& a, const Tensor& b) {
  return logical<std::logical_and<>>("logical_and", a, b);
}
Tensor logical_or(const Tensor& a, const Tensor& b) { return logical<std::logical_or<>>("logical_or", a, b); }
Tensor logical_not(const Tensor& a) {
  check_bool("logical_not", "operands", a);
  return test_each<bool>(a, std::logical_not<>{});
}

Tensor isnan(const Tensor& x) {
  return visit_floating("isnan", x.dtype(), [&](auto zero) {
    return test_each<decltype(zero)>(x, [](auto v) { return v != v; });
  });
}

Tensor isfinite(const Tensor& x) {
  return visit_floating("isfinite", x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    return test_each<T>(x, [](T v) { return std::fabs(v) <= std::numeric_limits<T>::max(); });
  });
}

Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b) {
  check_bool("where", "condition", condition);
  detail::check_same_dtype("where", a, b);
  return choose("where", condition, a, b);
}

Tensor masked_fill(const Tensor& x, const Tensor& mask, double value) {
  check_bool("masked_fill", "mask", mask);
  return visit_dtype(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    return choose("masked_fill", mask, Tensor::scalar<T>(scalar_as<T>("masked_fill", value)), x);
  });
}

Tensor clamp(const Tensor& x, std::optional<double> lo, std::optional<double> hi) {
  check(x.dtype() != DType::boolean, "clamp", "needs float32, float64 or int32, got bool");
  check(lo || hi, "clamp", "needs at least one bound");
  check(!(lo && std::isnan(*lo)) && !(hi && std::isnan(*hi)), "clamp", "bounds must not be NaN");
  if (x.dtype() == DType::i32) {
    const Tensor raised = lo ? maximum(x, *lo) : x;
    return hi ? minimum(raised, *hi) : raised;
  }
  return visit_floating("clamp", x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const T low = static_cast<T>(lo.value_or(-std::numeric_limits<double>::infinity()));
    const T high = static_cast<T>(hi.value_or(std::numeric_limits<double>::infinity()));
    return detail::map_flat<T, T>(
        x, [&](const T* in, T* out, std::int64_t n) { kernels<T>().binary.clamp(in, low, high, out, n); });
  });
}

}  // namespace minigpt
