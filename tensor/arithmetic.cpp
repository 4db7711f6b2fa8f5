#include "tensor/arithmetic.h"

#include "tensor/broadcast.h"
#include "tensor/copy.h"
#include "tensor/dispatch.h"

namespace minigpt {
namespace {

using detail::map_rows;
using detail::scalar_as;

using Int = std::int32_t;
using IntFn = detail::RowFn<Int, Int>;

// int32 wraps around like in PyTorch; in C++ only unsigned numbers may.
Int wrap(std::uint32_t x) { return static_cast<Int>(x); }
std::uint32_t bits(Int x) { return static_cast<std::uint32_t>(x); }

Int int_add(Int a, Int b) { return wrap(bits(a) + bits(b)); }
Int int_sub(Int a, Int b) { return wrap(bits(a) - bits(b)); }
Int int_mul(Int a, Int b) { return wrap(bits(a) * bits(b)); }
Int int_max(Int a, Int b) { return a > b ? a : b; }
Int int_min(Int a, Int b) { return a < b ? a : b; }
Int int_div(Int a, Int b) {
  check(b != 0, "div", "int32 division by zero: {} / {}", a, b);
  return b == -1 ? wrap(0u - bits(a)) : a / b;  // -2^31 / -1 is the one quotient that does not fit
}

template <Int (*fn)(Int, Int)>
void int_rows(const Int* a, std::int64_t a_step, const Int* b, std::int64_t b_step, Int* out,
              std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) out[i] = fn(a[i * a_step], b[i * b_step]);
}

void refuse_others(std::string_view op, DType dtype) {
  check(is_floating(dtype) || dtype == DType::i32, op, "needs float32, float64 or int32, got {}",
        name_of(dtype));
}

// Calls fn(kernel) with the row kernel for the type: one of the two float tables, or the plain integer loop.
template <class Pick, class Fn>
auto with_kernel(std::string_view op, DType dtype, Pick pick, IntFn int_fn, Fn fn) {
  refuse_others(op, dtype);
  if (dtype == DType::f32) return fn(pick(kernels<float>().binary), float{});
  if (dtype == DType::f64) return fn(pick(kernels<double>().binary), double{});
  return fn(int_fn, Int{});
}

template <class Pick>
Tensor binary(std::string_view op, const Tensor& a, const Tensor& b, Pick pick, IntFn int_fn) {
  detail::check_same_dtype(op, a, b);
  return with_kernel(op, a.dtype(), pick, int_fn, [&](auto kernel, auto zero) {
    using T = decltype(zero);
    return map_rows<T, T>(op, a, b, kernel);
  });
}

template <class Pick>
Tensor with_scalar(std::string_view op, const Tensor& a, double b, Pick pick, IntFn int_fn,
                   bool scalar_first = false) {
  return with_kernel(op, a.dtype(), pick, int_fn, [&](auto kernel, auto zero) {
    using T = decltype(zero);
    return map_rows<T, T>(a, scalar_as<T>(op, b), kernel, scalar_first);
  });
}

// Each picks its kernel out of a table of either type.
constexpr auto kAdd = [](const auto& table) { return table.add; };
constexpr auto kSub = [](const auto& table) { return table.sub; };
constexpr auto kMul = [](const auto& table) { return table.mul; };
constexpr auto kDiv = [](const auto& table) { return table.div; };
constexpr auto kMaximum = [](const auto& table) { return table.maximum; };
constexpr auto kMinimum = [](const auto& table) { return table.minimum; };

template <class T>
void add_in_place(Tensor& y, const Tensor& x, double alpha) {
  const T a = scalar_as<T>("add_", alpha);
  T* out = y.mutable_data<T>();
  if (y.numel() == 0) return;
  if constexpr (!std::is_same_v<T, Int>) {
    // Gradients are added up like this all the time: nothing to walk.
    if (x.is_contiguous() && x.shape() == y.shape()) {
      const T* in = x.data<T>();
      parallel_for(y.numel(), detail::kElementGrain, [=](std::int64_t begin, std::int64_t end) {
        kernels<T>().binary.add_scaled(out + begin, in + begin, a, end - begin);
      });
      return;
    }
  }
  const detail::BroadcastRows<1> rows = detail::make_rows<1>(y.shape(), {&x});
  const T* in = rows.operand(0).data<T>();
  detail::for_rows(rows, [&](std::int64_t o, const std::array<std::int64_t, 1>& start, std::int64_t n) {
    T* piece = out + o;
    const T* source = in + start[0];
    if constexpr (std::is_same_v<T, Int>) {
      for (std::int64_t i = 0; i < n; ++i) piece[i] = int_add(piece[i], int_mul(a, source[i * rows.step[0]]));
    } else if (rows.step[0] == 1) {
      kernels<T>().binary.add_scaled(piece, source, a, n);
    } else {
      const T term = a * *source;
      kernels<T>().binary.add(piece, 1, &term, 0, piece, n);
    }
  });
}

bool same_window(const Tensor& a, const Tensor& b) {
  return a.offset() == b.offset() && a.shape() == b.shape() && a.strides() == b.strides();
}

}  // namespace

Tensor add(const Tensor& a, const Tensor& b) { return binary("add", a, b, kAdd, int_rows<int_add>); }
Tensor add(const Tensor& a, double b) { return with_scalar("add", a, b, kAdd, int_rows<int_add>); }
Tensor add(double a, const Tensor& b) { return add(b, a); }

Tensor sub(const Tensor& a, const Tensor& b) { return binary("sub", a, b, kSub, int_rows<int_sub>); }
Tensor sub(const Tensor& a, double b) { return with_scalar("sub", a, b, kSub, int_rows<int_sub>); }
Tensor sub(double a, const Tensor& b) { return with_scalar("sub", b, a, kSub, int_rows<int_sub>, true); }

Tensor mul(const Tensor& a, const Tensor& b) { return binary("mul", a, b, kMul, int_rows<int_mul>); }
Tensor mul(const Tensor& a, double b) { return with_scalar("mul", a, b, kMul, int_rows<int_mul>); }
Tensor mul(double a, const Tensor& b) { return mul(b, a); }

Tensor div(const Tensor& a, const Tensor& b) { return binary("div", a, b, kDiv, int_rows<int_div>); }
Tensor div(const Tensor& a, double b) { return with_scalar("div", a, b, kDiv, int_rows<int_div>); }
Tensor div(double a, const Tensor& b) { return with_scalar("div", b, a, kDiv, int_rows<int_div>, true); }

Tensor maximum(const Tensor& a, const Tensor& b) {
  return binary("maximum", a, b, kMaximum, int_rows<int_max>);
}
Tensor maximum(const Tensor& a, double b) {
  return with_scalar("maximum", a, b, kMaximum, int_rows<int_max>);
}
Tensor minimum(const Tensor& a, const Tensor& b) {
  return binary("minimum", a, b, kMinimum, int_rows<int_min>);
}
Tensor minimum(const Tensor& a, double b) {
  return with_scalar("minimum", a, b, kMinimum, int_rows<int_min>);
}

void add_(Tensor& y, const Tensor& x, double alpha) {
  detail::check_same_dtype("add_", y, x);
  refuse_others("add_", y.dtype());
  check(x.shape() == y.shape() || broadcast_shapes("add_", y.shape(), x.shape()) == y.shape(), "add_",
        "{} does not broadcast to {}", x.shape(), y.shape());
  check_no_repetition("add_", y);
  // A source that is another window on the same numbers is copied out before the first of them changes.
  if (x.storage() == y.storage() && !same_window(x, y)) return add_(y, x.clone(), alpha);
  if (!y.is_contiguous()) {
    Tensor sum = y.clone();
    add_(sum, x, alpha);
    return y.copy_(sum);
  }
  if (y.dtype() == DType::f32)
    add_in_place<float>(y, x, alpha);
  else if (y.dtype() == DType::f64)
    add_in_place<double>(y, x, alpha);
  else
    add_in_place<Int>(y, x, alpha);
}

void mul_(Tensor& y, double factor) {
  check_no_repetition("mul_", y);
  if (!y.is_contiguous()) return y.copy_(mul(y, factor));
  with_kernel("mul_", y.dtype(), kMul, int_rows<int_mul>, [&](auto kernel, auto zero) {
    using T = decltype(zero);
    const T by = scalar_as<T>("mul_", factor);
    T* out = y.mutable_data<T>();
    parallel_for(y.numel(), detail::kElementGrain, [&](std::int64_t begin, std::int64_t end) {
      kernel(out + begin, 1, &by, 0, out + begin, end - begin);
    });
  });
}

}  // namespace minigpt
