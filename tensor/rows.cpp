#include "tensor/rows.h"

#include <algorithm>

#include "tensor/dispatch.h"
#include "tensor/parallel.h"

namespace minigpt {

namespace detail {

std::int64_t Rows::grain() const {
  constexpr std::int64_t kChunk = 16384;
  return std::max<std::int64_t>(1, kChunk / std::max<std::int64_t>(1, length));
}

Rows rows_of(std::string_view op, const Tensor& x) {
  check(x.defined(), op, "the input is undefined");
  check(x.rank() >= 1, op, "needs at least one dimension, got shape {}", x.shape());
  const std::int64_t length = x.shape().back();
  return {x.contiguous(), length == 0 ? 0 : x.numel() / length, length};
}

void check_same(std::string_view op, std::string_view name_a, const Tensor& a, std::string_view name_b,
                const Tensor& b) {
  check(a.defined() && b.defined(), op, "{} or {} is undefined", name_a, name_b);
  check(a.shape() == b.shape(), op, "shapes of {} and {} differ: {} and {}", name_a, name_b, a.shape(),
        b.shape());
  check(a.dtype() == b.dtype(), op, "types of {} and {} differ: {} and {}", name_a, name_b,
        name_of(a.dtype()), name_of(b.dtype()));
}

}  // namespace detail

namespace {

// y = op(x), row by row.
template <class Pick>
Tensor forward(std::string_view op, const Tensor& input, Pick pick) {
  const detail::Rows x = detail::rows_of(op, input);
  return visit_floating(op, input.dtype(), [&](auto zero) {
    using T = decltype(zero);
    Tensor output = Tensor::empty(input.shape(), input.dtype());
    const auto kernel = pick(kernels<T>().rows);
    const T* in = x.tensor.data<T>();
    T* out = output.mutable_data<T>();
    parallel_for(x.count, x.grain(), [&](std::int64_t begin, std::int64_t end) {
      kernel(in + begin * x.length, out + begin * x.length, end - begin, x.length);
    });
    return output;
  });
}

// dx = op(y, dy), row by row.
template <class Pick>
Tensor backward(std::string_view op, const Tensor& output, const Tensor& gradient, Pick pick) {
  detail::check_same(op, "y", output, "dy", gradient);
  const detail::Rows y = detail::rows_of(op, output);
  const Tensor dy = gradient.contiguous();
  return visit_floating(op, output.dtype(), [&](auto zero) {
    using T = decltype(zero);
    Tensor dx = Tensor::empty(output.shape(), output.dtype());
    const auto kernel = pick(kernels<T>().rows);
    const T* y_data = y.tensor.data<T>();
    const T* dy_data = dy.data<T>();
    T* dx_data = dx.mutable_data<T>();
    parallel_for(y.count, y.grain(), [&](std::int64_t begin, std::int64_t end) {
      const std::int64_t at = begin * y.length;
      kernel(y_data + at, dy_data + at, dx_data + at, end - begin, y.length);
    });
    return dx;
  });
}

}  // namespace

Tensor softmax(const Tensor& x) {
  return forward("softmax", x, [](const auto& k) { return k.softmax; });
}

Tensor softmax_backward(const Tensor& y, const Tensor& dy) {
  return backward("softmax_backward", y, dy, [](const auto& k) { return k.softmax_backward; });
}

Tensor log_softmax(const Tensor& x) {
  return forward("log_softmax", x, [](const auto& k) { return k.log_softmax; });
}

Tensor log_softmax_backward(const Tensor& y, const Tensor& dy) {
  return backward("log_softmax_backward", y, dy, [](const auto& k) { return k.log_softmax_backward; });
}

}  // namespace minigpt
