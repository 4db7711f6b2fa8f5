#include "tensor/gemv.h"

#include <algorithm>

#include "tensor/dispatch.h"
#include "tensor/parallel.h"

namespace minigpt {
namespace {

// Weights that are worth handing to another thread: some 8 microseconds of reading, several times what handing over costs. So the
// matrices of a model of 128 channels stay on one thread.
constexpr std::int64_t kGrainBytes = 256 * 1024;
// Beyond this a matrix of a model is not in the L2 cache when its turn comes again.
constexpr std::int64_t kFarBytes = 512 * 1024;
constexpr std::int64_t kRowTile = 16;  // rows of W that a kernel takes at once, at most

void check_fit(const Tensor& x, const Tensor& weight, const Tensor& bias, const Tensor& y) {
  check(x.rank() == 2 && weight.rank() == 2 && x.dim(1) == weight.dim(1), "gemv",
        "inner dimensions differ: {} x {}^T", x.shape(), weight.shape());
  check(y.shape() == Shape{x.dim(0), weight.dim(0)}, "gemv", "the result of {} x {}^T cannot be {}",
        x.shape(), weight.shape(), y.shape());
  check(!bias.defined() || bias.shape() == Shape{weight.dim(0)}, "gemv", "the bias must be ({}), got {}",
        weight.dim(0), bias.defined() ? bias.shape() : Shape{});
  check(weight.dtype() == x.dtype() || (weight.dtype() == DType::bf16 && x.dtype() == DType::f32), "gemv",
        "types differ: {} x {}", name_of(x.dtype()), name_of(weight.dtype()));
  check(x.is_contiguous() && weight.is_contiguous() && y.is_contiguous() &&
            (!bias.defined() || bias.is_contiguous()),
        "gemv", "needs contiguous tensors");
}

// Rows [first, last) of W, for all rows of x.
template <class T>
void multiply(GemvBlock<T> g, const Tensor& weight, std::int64_t first, std::int64_t last) {
  g.n = last - first;
  g.y += first;
  if (g.bias) g.bias += first;
  if (weight.dtype() == DType::bf16)
    kernels<T>().gemv.bf16(g, &weight.data<BFloat16>()[first * g.k].bits);
  else
    kernels<T>().gemv.full(g, weight.data<T>() + first * g.k);
}

}  // namespace

void gemv(const Tensor& x, const Tensor& weight, const Tensor& bias, Tensor& y, bool accumulate) {
  check_fit(x, weight, bias, y);
  const std::int64_t n = weight.dim(0), k = weight.dim(1);
  if (x.dim(0) == 0 || n == 0) return;
  visit_floating("gemv", x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const std::int64_t row_bytes = std::max<std::int64_t>(1, k * size_of(weight.dtype()));
    GemvBlock<T> g{};
    g.rows = x.dim(0), g.k = k;
    g.x = x.data<T>();
    g.bias = bias.defined() ? bias.data<T>() : nullptr;
    g.y = y.mutable_data<T>(), g.y_step = n;
    g.accumulate = accumulate;
    g.far = n * row_bytes >= kFarBytes;
    const std::int64_t grain = std::max(kRowTile, kGrainBytes / row_bytes / kRowTile * kRowTile);
    parallel_for(n, grain, [&](std::int64_t first, std::int64_t last) { multiply(g, weight, first, last); });
  });
}

}  // namespace minigpt
