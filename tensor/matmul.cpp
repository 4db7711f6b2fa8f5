#include "tensor/matmul.h"

#include <algorithm>
#include <utility>

#include "tensor/dispatch.h"
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
void multiply_batches(const Tensor& a, const Tensor& b, Tensor& out, Precision precision) {
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
    if (batches > 1 && precision == Precision::full && m * n * k <= (std::int64_t{1} << 20)) {
      const std::int64_t grain = std::max<std::int64_t>(1, (1 << 16) / std::max<std::int64_t>(1, m * n * k));
      parallel_for(batches, grain, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i)
          gemm_serial<T>(matrix<T>(a, batch_offset(a, out.shape(), i)),
                         matrix<T>(b, batch_offset(b, out.shape(), i)), c + i * m * n, n, false);
      });
      return;
    }
    GemmOptions<T> options;
    options.precision = precision;
    for (std::int64_t i = 0; i < batches; ++i)
      gemm<T>(matrix<T>(a, batch_offset(a, out.shape(), i)), matrix<T>(b, batch_offset(b, out.shape(), i)),
              c + i * m * n, n, options);
  });
}

// Of (..., K), all axes but the last.
std::int64_t numel_of_rows(const Tensor& x) {
  std::int64_t rows = 1;
  for (int i = 0; i + 1 < x.rank(); ++i) rows *= x.shape()[i];
  return rows;
}

Shape with_batch(const Shape& batch, std::int64_t rows, std::int64_t cols) {
  Shape shape = batch;
  shape.push_back(rows);
  shape.push_back(cols);
  return shape;
}

}  // namespace

Tensor matmul(const Tensor& a, const Tensor& b, Precision precision) {
  check(a.rank() >= 1 && b.rank() >= 1, "matmul", "both operands need at least one axis: {} x {}", a.shape(),
        b.shape());
  check(a.dtype() == b.dtype(), "matmul", "types differ: {} x {}", name_of(a.dtype()), name_of(b.dtype()));
  const std::int64_t inner_a = a.dim(-1);
  const std::int64_t inner_b = b.rank() == 1 ? b.dim(0) : b.dim(-2);
  check(inner_a == inner_b, "matmul", "inner dimensions differ: {} x {}: {} != {}", a.shape(), b.shape(),
        inner_a, inner_b);
  if (a.rank() == 1) return squeeze(matmul(unsqueeze(a, 0), b, precision), b.rank() == 1 ? 0 : -2);
  if (b.rank() == 1) return squeeze(matmul(a, unsqueeze(b, 1), precision), -1);

  // One weight matrix for all batches: a single tall product.
  if (b.rank() == 2 && a.rank() > 2 && a.is_contiguous()) {
    Shape shape = a.shape();
    shape[shape.size() - 1] = b.dim(1);
    return reshape(matmul(reshape(a, {numel_of_rows(a), inner_a}), b, precision), shape);
  }
  const Shape batch = broadcast_shapes("matmul", Shape(a.shape().begin(), a.shape().end() - 2),
                                       Shape(b.shape().begin(), b.shape().end() - 2));
  Tensor out = Tensor::empty(with_batch(batch, a.dim(-2), b.dim(-1)), a.dtype());
  multiply_batches(expand(a, with_batch(batch, a.dim(-2), inner_a)),
                   expand(b, with_batch(batch, inner_b, b.dim(-1))), out, precision);
  return out;
}

Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias, Activation activation, Tensor* kept,
              Precision precision) {
  check(weight.rank() == 2 && x.rank() >= 1, "linear", "needs x (..., K) and weight (N, K), got {} and {}",
        x.shape(), weight.shape());
  const std::int64_t n = weight.shape()[0], k = weight.shape()[1];
  check(x.dim(-1) == k, "linear", "inner dimensions differ: x {} and weight {}: {} != {}", x.shape(),
        weight.shape(), x.dim(-1), k);
  check(x.dtype() == weight.dtype(), "linear", "types differ: x {} and weight {}", name_of(x.dtype()),
        name_of(weight.dtype()));
  if (bias.defined())
    check(bias.rank() == 1 && bias.dim(0) == n && bias.dtype() == x.dtype(), "linear",
          "the bias must be ({}) {}, got {} {}", n, name_of(x.dtype()), bias.shape(), name_of(bias.dtype()));
  Shape shape = x.shape();
  shape[shape.size() - 1] = n;
  Tensor y = Tensor::empty(shape, x.dtype());
  if (kept) *kept = Tensor::empty(shape, x.dtype());
  const Tensor packed_bias = bias.defined() ? bias.contiguous() : bias;
  visit_floating("linear", x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    GemmOptions<T> options;
    options.activation = activation;
    options.precision = precision;
    if (bias.defined()) options.bias = packed_bias.data<T>();
    if (kept) options.kept = kept->mutable_data<T>();
    // x as one tall matrix; a matrix may lie anywhere, more axes must follow each other in memory.
    const Tensor rows = x.rank() == 2 ? x : x.contiguous();
    const Matrix<T> a =
        x.rank() == 2 ? as_matrix<T>(rows) : Matrix<T>{rows.data<T>(), numel_of_rows(x), k, k, 1};
    gemm<T>(a, as_matrix<T>(weight).transposed(), y.mutable_data<T>(), n, options);
  });
  return y;
}

Tensor activation_backward(Activation activation, const Tensor& z, const Tensor& dy) {
  check(activation != Activation::none && z.shape() == dy.shape() && z.dtype() == dy.dtype(),
        "activation_backward", "z is {} {} and dy {} {}", name_of(z.dtype()), z.shape(), name_of(dy.dtype()),
        dy.shape());
  const Tensor in = z.contiguous(), grad = dy.contiguous();
  Tensor dz = Tensor::empty(z.shape(), z.dtype());
  visit_floating("activation_backward", z.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const T *pz = in.data<T>(), *pdy = grad.data<T>();
    T* out = dz.mutable_data<T>();
    parallel_for(z.numel(), 4096, [&](std::int64_t begin, std::int64_t end) {
      kernels<T>().gemm.activate_backward(activation, end - begin, pz + begin, pdy + begin, nullptr,
                                          out + begin);
    });
  });
  return dz;
}

static thread_local Precision t_precision = Precision::full;

Precision matmul_precision() { return t_precision; }
ScopedMatmulPrecision::ScopedMatmulPrecision(Precision precision)
    : before_(std::exchange(t_precision, precision)) {}
ScopedMatmulPrecision::~ScopedMatmulPrecision() { t_precision = before_; }

}  // namespace minigpt
