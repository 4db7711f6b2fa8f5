#include "tensor/unary.h"

#include <cmath>

#include "tensor/broadcast.h"
#include "tensor/dispatch.h"

namespace minigpt {
namespace {

using detail::map_flat;
using Int = std::int32_t;

// The kernel that `pick` takes from the table of x's type.
template <class Pick>
Tensor by_kernel(std::string_view op, const Tensor& x, Pick pick) {
  return visit_floating(op, x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    return map_flat<T, T>(x, pick(kernels<T>().unary));
  });
}

// A plain function of one number, for what has no kernel.
template <class T, class Fn>
Tensor by_loop(const Tensor& x, Fn fn) {
  return map_flat<T, T>(x, [&](const T* in, T* out, std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) out[i] = fn(in[i]);
  });
}
template <class Fn>
Tensor by_loop(std::string_view op, const Tensor& x, Fn fn) {
  return visit_floating(op, x.dtype(), [&](auto zero) { return by_loop<decltype(zero)>(x, fn); });
}

template <class Pick>
Tensor backward(std::string_view op, const Tensor& x, const Tensor& dy, Pick pick) {
  detail::check_same_dtype(op, x, dy);
  check(x.shape() == dy.shape(), op, "shapes of x and dy differ: {} and {}", x.shape(), dy.shape());
  return visit_floating(op, x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const auto kernel = pick(kernels<T>().unary);
    Tensor copy_x, copy_dy;
    const T* in = (x.is_contiguous() ? x : (copy_x = x.contiguous())).template data<T>();
    const T* upstream = (dy.is_contiguous() ? dy : (copy_dy = dy.contiguous())).template data<T>();
    Tensor out = Tensor::empty(x.shape(), x.dtype());
    T* dx = out.mutable_data<T>();
    parallel_for(x.numel(), detail::kElementGrain, [&](std::int64_t begin, std::int64_t end) {
      kernel(in + begin, upstream + begin, dx + begin, end - begin);
    });
    return out;
  });
}

Int int_neg(Int x) { return static_cast<Int>(0u - static_cast<std::uint32_t>(x)); }

}  // namespace

Tensor exp(const Tensor& x) {
  return by_kernel("exp", x, [](const auto& table) { return table.exp; });
}
Tensor log(const Tensor& x) {
  return by_kernel("log", x, [](const auto& table) { return table.log; });
}
Tensor tanh(const Tensor& x) {
  return by_kernel("tanh", x, [](const auto& table) { return table.tanh; });
}
Tensor erf(const Tensor& x) {
  return by_kernel("erf", x, [](const auto& table) { return table.erf; });
}
Tensor sqrt(const Tensor& x) {
  return by_kernel("sqrt", x, [](const auto& table) { return table.sqrt; });
}
Tensor reciprocal(const Tensor& x) {
  return by_kernel("reciprocal", x, [](const auto& table) { return table.reciprocal; });
}
Tensor sigmoid(const Tensor& x) {
  return by_kernel("sigmoid", x, [](const auto& table) { return table.sigmoid; });
}
Tensor silu(const Tensor& x) {
  return by_kernel("silu", x, [](const auto& table) { return table.silu; });
}
Tensor gelu(const Tensor& x, Gelu kind) {
  return by_kernel("gelu", x,
                   [&](const auto& table) { return kind == Gelu::erf ? table.gelu_erf : table.gelu_tanh; });
}

Tensor neg(const Tensor& x) {
  if (x.dtype() == DType::i32) return by_loop<Int>(x, int_neg);
  return by_kernel("neg", x, [](const auto& table) { return table.neg; });
}
Tensor abs(const Tensor& x) {
  if (x.dtype() == DType::i32) return by_loop<Int>(x, [](Int v) { return v < 0 ? int_neg(v) : v; });
  return by_kernel("abs", x, [](const auto& table) { return table.abs; });
}
Tensor relu(const Tensor& x) {
  if (x.dtype() == DType::i32) return by_loop<Int>(x, [](Int v) { return v < 0 ? 0 : v; });
  return by_kernel("relu", x, [](const auto& table) { return table.relu; });
}

Tensor rsqrt(const Tensor& x) {
  return visit_floating("rsqrt", x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const auto& table = kernels<T>().unary;
    return map_flat<T, T>(x, [&](const T* in, T* out, std::int64_t n) {
      table.sqrt(in, out, n);
      table.reciprocal(out, out, n);
    });
  });
}

Tensor sin(const Tensor& x) {
  return by_loop("sin", x, [](auto v) { return std::sin(v); });
}
Tensor cos(const Tensor& x) {
  return by_loop("cos", x, [](auto v) { return std::cos(v); });
}

Tensor pow(const Tensor& x, double exponent) {
  check(is_floating(x.dtype()), "pow", "needs float32 or float64, got {}", name_of(x.dtype()));
  if (exponent == 0) return ones_like(x);
  if (exponent == 1) return x.clone();
  if (exponent == 0.5) return sqrt(x);
  if (exponent == -0.5) return rsqrt(x);
  if (exponent == -1) return reciprocal(x);
  if (exponent == 2) return by_kernel("pow", x, [](const auto& table) { return table.square; });
  if (exponent == 3) return by_loop("pow", x, [](auto v) { return v * v * v; });
  if (exponent == -2) return by_loop("pow", x, [](auto v) { return 1 / (v * v); });
  return by_loop("pow", x, [=](auto v) { return std::pow(v, static_cast<decltype(v)>(exponent)); });
}

Tensor relu_backward(const Tensor& x, const Tensor& dy) {
  return backward("relu_backward", x, dy, [](const auto& table) { return table.relu_backward; });
}
Tensor silu_backward(const Tensor& x, const Tensor& dy) {
  return backward("silu_backward", x, dy, [](const auto& table) { return table.silu_backward; });
}
Tensor gelu_backward(const Tensor& x, const Tensor& dy, Gelu kind) {
  return backward("gelu_backward", x, dy, [&](const auto& table) {
    return kind == Gelu::erf ? table.gelu_erf_backward : table.gelu_tanh_backward;
  });
}

}  // namespace minigpt
