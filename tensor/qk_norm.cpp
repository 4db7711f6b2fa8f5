// Normalisation of queries and keys, head by head. Declared in tensor/norms.h.

#include <algorithm>

#include "tensor/dispatch.h"
#include "tensor/norms.h"
#include "tensor/parallel.h"
#include "tensor/rows.h"

namespace minigpt {

RmsNormOutput qk_norm(const Tensor& qkv, std::int64_t heads, double eps) {
  constexpr auto kOp = "qk_norm";
  check(qkv.rank() == 3 && heads >= 1 && qkv.dim(2) % (3 * heads) == 0, kOp,
        "needs (B, T, 3C) with C a multiple of the heads, got {} and {} heads", qkv.shape(), heads);
  check(eps >= 0, kOp, "eps must be at least 0, got {}", eps);
  const detail::Rows x = detail::rows_of(kOp, qkv);
  const std::int64_t width = x.length, values = width / 3 * 2, count = 2 * heads;
  return visit_floating(kOp, qkv.dtype(), [&](auto zero) {
    using T = decltype(zero);
    RmsNormOutput out{Tensor::empty(qkv.shape(), qkv.dtype()),
                      Tensor::empty({qkv.dim(0), qkv.dim(1), count}, qkv.dtype())};
    const auto kernel = kernels<T>().norms.rms_norm;
    const T* in = x.tensor.data<T>();
    T *y = out.y.template mutable_data<T>(), *rrms = out.rrms.template mutable_data<T>();
    parallel_for(x.count, x.grain(), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) {
        const T* from = in + row * width;
        kernel(from, nullptr, eps, y + row * width, rrms + row * count, count, values / count);
        std::copy(from + values, from + width, y + row * width + values);
      }
    });
    return out;
  });
}

Tensor qk_norm_backward(const Tensor& qkv, const Tensor& rrms, const Tensor& dy) {
  constexpr auto kOp = "qk_norm_backward";
  detail::check_same(kOp, "qkv", qkv, "dy", dy);
  check(qkv.rank() == 3 && rrms.rank() == 3 && rrms.dtype() == qkv.dtype() && rrms.dim(0) == qkv.dim(0) &&
            rrms.dim(1) == qkv.dim(1) && rrms.dim(2) >= 2 && qkv.dim(2) / 3 * 2 % rrms.dim(2) == 0,
        kOp, "rrms {} does not fit qkv {}", rrms.shape(), qkv.shape());
  const detail::Rows x = detail::rows_of(kOp, qkv);
  const Tensor g = dy.contiguous(), r = rrms.contiguous();
  const std::int64_t width = x.length, values = width / 3 * 2, count = rrms.dim(2);
  Tensor dx = Tensor::empty(qkv.shape(), qkv.dtype());
  visit_floating(kOp, qkv.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const auto kernel = kernels<T>().norms.rms_norm_backward;
    const T *in = x.tensor.data<T>(), *scale = r.data<T>(), *dy_data = g.data<T>();
    T* out = dx.mutable_data<T>();
    parallel_for(x.count, x.grain(), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) {
        const std::int64_t at = row * width;
        kernel(in + at, scale + row * count, nullptr, dy_data + at, out + at, nullptr, count, values / count);
        std::copy(dy_data + at + values, dy_data + at + width, out + at + values);
      }
    });
  });
  return dx;
}

}  // namespace minigpt
