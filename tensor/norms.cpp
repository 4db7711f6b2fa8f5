#include "tensor/norms.h"

#include <algorithm>

#include "tensor/dispatch.h"
#include "tensor/parallel.h"
#include "tensor/rows.h"

namespace minigpt {
namespace {

using detail::Rows;
using detail::rows_of;

// Checks an optional (C) operand and makes it contiguous; undefined stays undefined.
Tensor per_column(std::string_view op, std::string_view name, const Tensor& operand, const Tensor& x) {
  if (!operand.defined()) return operand;
  check(operand.shape() == Shape{x.shape().back()}, op, "{} must be ({}), got {}", name, x.shape().back(),
        operand.shape());
  check(operand.dtype() == x.dtype(), op, "types of x and {} differ: {} and {}", name, name_of(x.dtype()),
        name_of(operand.dtype()));
  return operand.contiguous();
}

Shape without_last(const Shape& shape) { return {shape.begin(), shape.end() - 1}; }

Tensor per_row(std::string_view op, std::string_view name, const Tensor& operand, const Tensor& x) {
  check(operand.defined() && operand.shape() == without_last(x.shape()), op, "{} must be {}, got {}", name,
        without_last(x.shape()), operand.shape());
  check(operand.dtype() == x.dtype(), op, "types of x and {} differ: {} and {}", name, name_of(x.dtype()),
        name_of(operand.dtype()));
  return operand.contiguous();
}

void check_eps(std::string_view op, double eps) {
  check(eps >= 0, op, "eps must be at least 0, got {}", eps);
}

template <class T>
const T* data_or_null(const Tensor& t) {
  return t.defined() ? t.data<T>() : nullptr;
}

// Sums over the rows are split into at most 64 blocks of rows, each with its own `sums` rows of partial sums,
// which are added up in order: the split depends on the number of rows alone, not on that of threads.
//
// block(first, last, partial) adds the terms of rows [first, last) to partial, (sums, C) zeros.
template <class T, class Block>
void sum_over_rows(const Rows& rows, std::int64_t sums, T* const* totals, Block block) {
  constexpr std::int64_t kMostBlocks = 64, kLeastRows = 16;
  const std::int64_t per_block = std::max(kLeastRows, (rows.count + kMostBlocks - 1) / kMostBlocks);
  const std::int64_t blocks = (rows.count + per_block - 1) / per_block;
  const std::int64_t width = sums * rows.length;
  Tensor partials = zeros({blocks, width}, dtype_of<T>);
  T* partial = partials.mutable_data<T>();
  const std::int64_t grain = std::max<std::int64_t>(1, rows.grain() / per_block);
  parallel_for(blocks, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t b = begin; b < end; ++b)
      block(b * per_block, std::min(rows.count, (b + 1) * per_block), partial + b * width);
  });
  for (std::int64_t s = 0; s < sums; ++s) {
    std::fill_n(totals[s], rows.length, T(0));
    for (std::int64_t b = 0; b < blocks; ++b) {
      const T* term = partial + b * width + s * rows.length;
      for (std::int64_t c = 0; c < rows.length; ++c) totals[s][c] += term[c];
    }
  }
}

}  // namespace

namespace {

// Calls normalise(rows, first, count) for all rows of x. With a branch, it first forms the rows x + branch of `sum`, a
// few at a time, so that they are normalised while they are in the cache; rows are then those of `sum`.
template <class T, class Normalise>
void for_rows(const Rows& x, const Rows* branch, Tensor* sum, Normalise normalise) {
  const T* in = x.tensor.template data<T>();
  const T* other = branch ? branch->tensor.template data<T>() : nullptr;
  T* total = sum ? sum->template mutable_data<T>() : nullptr;
  const std::int64_t step = std::max<std::int64_t>(1, 2048 / std::max<std::int64_t>(1, x.length));
  parallel_for(x.count, x.grain(), [&](std::int64_t begin, std::int64_t end) {
    if (!other) return normalise(in, begin, end - begin);
    for (std::int64_t i = begin; i < end; i += step) {
      const std::int64_t count = std::min(step, end - i), at = i * x.length;
      kernels<T>().binary.add(in + at, 1, other + at, 1, total + at, count * x.length);
      normalise(total, i, count);
    }
  });
}

// Of layer_norm, and of residual_layer_norm if there is a branch.
LayerNormOutput layer_norm_rows(std::string_view kOp, const Tensor& input, const Tensor* branch, Tensor* sum,
                                const Tensor& weight, const Tensor& bias, double eps) {
  const Rows x = rows_of(kOp, input);
  const Rows other = branch ? rows_of(kOp, *branch) : x;
  const Tensor w = per_column(kOp, "weight", weight, input);
  const Tensor b = per_column(kOp, "bias", bias, input);
  check_eps(kOp, eps);
  return visit_floating(kOp, input.dtype(), [&](auto zero) {
    using T = decltype(zero);
    LayerNormOutput out{Tensor::empty(input.shape(), input.dtype()),
                        zeros(without_last(input.shape()), input.dtype()),
                        zeros(without_last(input.shape()), input.dtype())};
    const auto kernel = kernels<T>().norms.layer_norm;
    const T *w_data = data_or_null<T>(w), *b_data = data_or_null<T>(b);
    T *y = out.y.template mutable_data<T>(), *mean = out.mean.template mutable_data<T>(),
      *rstd = out.rstd.template mutable_data<T>();
    for_rows<T>(x, branch ? &other : nullptr, sum,
                [&](const T* rows, std::int64_t first, std::int64_t count) {
                  const std::int64_t at = first * x.length;
                  kernel(rows + at, w_data, b_data, eps, y + at, mean + first, rstd + first, count, x.length);
                });
    return out;
  });
}

// The operands of a residual connection, and an empty sum of them.
Tensor empty_sum(std::string_view op, const Tensor& x, const Tensor& branch) {
  detail::check_same(op, "x", x, "branch", branch);
  return Tensor::empty(x.shape(), x.dtype());
}

}  // namespace

LayerNormOutput layer_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, double eps) {
  return layer_norm_rows("layer_norm", x, nullptr, nullptr, weight, bias, eps);
}

ResidualLayerNormOutput residual_layer_norm(const Tensor& x, const Tensor& branch, const Tensor& weight,
                                            const Tensor& bias, double eps) {
  Tensor sum = empty_sum("residual_layer_norm", x, branch);
  LayerNormOutput norm = layer_norm_rows("residual_layer_norm", x, &branch, &sum, weight, bias, eps);
  return {std::move(sum), std::move(norm)};
}

LayerNormGradients layer_norm_backward(const Tensor& input, const Tensor& mean, const Tensor& rstd,
                                       const Tensor& weight, const Tensor& dy) {
  constexpr auto kOp = "layer_norm_backward";
  detail::check_same(kOp, "x", input, "dy", dy);
  const Rows x = rows_of(kOp, input);
  const Tensor m = per_row(kOp, "mean", mean, input), r = per_row(kOp, "rstd", rstd, input);
  const Tensor w = per_column(kOp, "weight", weight, input), g = dy.contiguous();
  return visit_floating(kOp, input.dtype(), [&](auto zero) {
    using T = decltype(zero);
    LayerNormGradients out{Tensor::empty(input.shape(), input.dtype()),
                           Tensor::empty({x.length}, input.dtype()),
                           Tensor::empty({x.length}, input.dtype())};
    const auto kernel = kernels<T>().norms.layer_norm_backward;
    const T *in = x.tensor.data<T>(), *w_data = data_or_null<T>(w), *dy_data = g.data<T>(),
            *mean_data = m.data<T>(), *rstd_data = r.data<T>();
    T* dx = out.dx.template mutable_data<T>();
    T* const totals[] = {out.dweight.template mutable_data<T>(), out.dbias.template mutable_data<T>()};
    sum_over_rows<T>(x, 2, totals, [&](std::int64_t first, std::int64_t last, T* partial) {
      const std::int64_t at = first * x.length;
      kernel(in + at, mean_data + first, rstd_data + first, w_data, dy_data + at, dx + at, partial,
             partial + x.length, last - first, x.length);
    });
    return out;
  });
}

namespace {

RmsNormOutput rms_norm_rows(std::string_view kOp, const Tensor& input, const Tensor* branch, Tensor* sum,
                            const Tensor& weight, double eps) {
  const Rows x = rows_of(kOp, input);
  const Rows other = branch ? rows_of(kOp, *branch) : x;
  const Tensor w = per_column(kOp, "weight", weight, input);
  check_eps(kOp, eps);
  return visit_floating(kOp, input.dtype(), [&](auto zero) {
    using T = decltype(zero);
    RmsNormOutput out{Tensor::empty(input.shape(), input.dtype()),
                      zeros(without_last(input.shape()), input.dtype())};
    const auto kernel = kernels<T>().norms.rms_norm;
    const T* w_data = data_or_null<T>(w);
    T *y = out.y.template mutable_data<T>(), *rrms = out.rrms.template mutable_data<T>();
    for_rows<T>(x, branch ? &other : nullptr, sum,
                [&](const T* rows, std::int64_t first, std::int64_t count) {
                  const std::int64_t at = first * x.length;
                  kernel(rows + at, w_data, eps, y + at, rrms + first, count, x.length);
                });
    return out;
  });
}

}  // namespace

RmsNormOutput rms_norm(const Tensor& x, const Tensor& weight, double eps) {
  return rms_norm_rows("rms_norm", x, nullptr, nullptr, weight, eps);
}

ResidualRmsNormOutput residual_rms_norm(const Tensor& x, const Tensor& branch, const Tensor& weight,
                                        double eps) {
  Tensor sum = empty_sum("residual_rms_norm", x, branch);
  RmsNormOutput norm = rms_norm_rows("residual_rms_norm", x, &branch, &sum, weight, eps);
  return {std::move(sum), std::move(norm)};
}

RmsNormGradients rms_norm_backward(const Tensor& input, const Tensor& rrms, const Tensor& weight,
                                   const Tensor& dy) {
  constexpr auto kOp = "rms_norm_backward";
  detail::check_same(kOp, "x", input, "dy", dy);
  const Rows x = rows_of(kOp, input);
  const Tensor r = per_row(kOp, "rrms", rrms, input), w = per_column(kOp, "weight", weight, input);
  const Tensor g = dy.contiguous();
  return visit_floating(kOp, input.dtype(), [&](auto zero) {
    using T = decltype(zero);
    RmsNormGradients out{Tensor::empty(input.shape(), input.dtype()),
                         Tensor::empty({x.length}, input.dtype())};
    const auto kernel = kernels<T>().norms.rms_norm_backward;
    const T *in = x.tensor.data<T>(), *w_data = data_or_null<T>(w), *dy_data = g.data<T>(),
            *rrms_data = r.data<T>();
    T* dx = out.dx.template mutable_data<T>();
    T* const totals[] = {out.dweight.template mutable_data<T>()};
    sum_over_rows<T>(x, 1, totals, [&](std::int64_t first, std::int64_t last, T* partial) {
      const std::int64_t at = first * x.length;
      kernel(in + at, rrms_data + first, w_data, dy_data + at, dx + at, partial, last - first, x.length);
    });
    return out;
  });
}

}  // namespace minigpt
