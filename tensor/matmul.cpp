#include "tensor/matmul.h"

#include <algorithm>

#include "tensor/elementwise.h"
#include "tensor/gemm.h"
#include "tensor/parallel.h"
#include "tensor/views.h"

namespace minigpt {
namespace {

template <class T>
Matrix<T> matrix(const Tensor& x, std::int64_t offset) {
  const int r = x.rank();
  return {x.data<T>() + offset, x.shape()[r - 2], x.shape()[r - 1], x.strides()[r - 2], x.strides()[r - 1]};
}

// Where batch number `index` begins, for batch axes of `shape` seen through x's strides.
std::int64_t batch_offset(const Tensor& x, const Shape& shape, std::int64_t index) {
  std::int64_t offset = 0;
  for (int i = x.rank() - 3; i >= 0; --i) {
    offset += index % shape[i] * x.strides()[i];
    index /= shape[i];
  }
  return offset;
}

// a: (..., M, K), b: (..., K, N) with equal batch axes.
void multiply_batches(const Tensor& a, const Tensor& b, Tensor& out) {
  const int r = out.rank();
  const std::int64_t m = out.shape()[r - 2];
  const std::int64_t n = out.shape()[r - 1];
  const std::int64_t k = a.shape()[r - 1];
  const std::int64_t batches = m * n == 0 ? 0 : out.numel() / (m * n);
  visit_floating("matmul", a.dtype(), [&](auto zero) {
    using T = decltype(zero);
    T* c = out.mutable_data<T>();
    // Small products are cheaper whole on one thread each; large ones are split inside. The choice looks at
    // shapes only, so it is the same for every number of threads.
    if (batches > 1 && m * n * k <= (std::int64_t{1} << 20)) {
      const std::int64_t grain = std::max<std::int64_t>(1, (1 << 16) / std::max<std::int64_t>(1, m * n * k));
      parallel_for(batches, grain, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i)
          gemm_serial<T>(matrix<T>(a, batch_offset(a, out.shape(), i)),
                         matrix<T>(b, batch_offset(b, out.shape(), i)), c + i * m * n, n, false);
      });
      return;
    }
    for (std::int64_t i = 0; i < batches; ++i)
      gemm<T>(matrix<T>(a, batch_offset(a, out.shape(), i)), matrix<T>(b, batch_offset(b, out.shape(), i)),
              c + i * m * n, n, false);
  });
}

Shape with_batch(const Shape& batch, std::int64_t rows, std::int64_t cols) {
  Shape shape = batch;
  shape.push_back(rows);
  shape.push_back(cols);
  return shape;
}

}  // namespace

Tensor matmul(const Tensor& a, const Tensor& b) {
  check(a.rank() >= 1 && b.rank() >= 1, "matmul", "both operands need at least one axis: {} x {}", a.shape(),
        b.shape());
  check(a.dtype() == b.dtype(), "matmul", "types differ: {} x {}", name_of(a.dtype()), name_of(b.dtype()));
  const std::int64_t inner_a = a.dim(-1);
  const std::int64_t inner_b = b.rank() == 1 ? b.dim(0) : b.dim(-2);
  check(inner_a == inner_b, "matmul", "inner dimensions differ: {} x {}: {} != {}", a.shape(), b.shape(),
        inner_a, inner_b);
  if (a.rank() == 1) return squeeze(matmul(unsqueeze(a, 0), b), b.rank() == 1 ? 0 : -2);
  if (b.rank() == 1) return squeeze(matmul(a, unsqueeze(b, 1)), -1);

  // One weight matrix for all batches: a single tall product.
  if (b.rank() == 2 && a.rank() > 2 && a.is_contiguous()) {
    Shape shape = a.shape();
    shape[shape.size() - 1] = b.dim(1);
    return reshape(matmul(reshape(a, {a.numel() / std::max<std::int64_t>(inner_a, 1), inner_a}), b), shape);
  }
  const Shape batch = broadcast_shapes("matmul", Shape(a.shape().begin(), a.shape().end() - 2),
                                       Shape(b.shape().begin(), b.shape().end() - 2));
  Tensor out = Tensor::empty(with_batch(batch, a.dim(-2), b.dim(-1)), a.dtype());
  multiply_batches(expand(a, with_batch(batch, a.dim(-2), inner_a)),
                   expand(b, with_batch(batch, inner_b, b.dim(-1))), out);
  return out;
}

Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  check(weight.rank() == 2 && x.rank() >= 1, "linear", "needs x (..., K) and weight (N, K), got {} and {}",
        x.shape(), weight.shape());
  check(x.dim(-1) == weight.dim(1), "linear", "inner dimensions differ: x {} and weight {}: {} != {}",
        x.shape(), weight.shape(), x.dim(-1), weight.dim(1));
  Tensor y = matmul(x, transpose(weight));
  if (bias.defined()) add_(y, bias);
  return y;
}

}  // namespace minigpt
