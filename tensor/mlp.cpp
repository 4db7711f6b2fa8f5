#include "tensor/mlp.h"

#include <algorithm>
#include <optional>

#include "tensor/arithmetic.h"
#include "tensor/dispatch.h"
#include "tensor/gemm_packed.h"
#include "tensor/parallel.h"
#include "tensor/reduce.h"
#include "tensor/views.h"
#include "tensor/workspace.h"

namespace minigpt {
namespace {

using std::int64_t;

// Rows that one thread takes at a time: their hidden values (48 * 1536 floats = 295 kB for 384 channels) stay in its L2
// cache from the product that makes them to the one that reads them.
constexpr int64_t kRowsOfTask = 48;
// Rows between which the threads meet in the backward pass, for the products that sum over rows: two depth blocks of
// those, and few enough that their hidden values (768 * 1536 floats = 4.7 MB) fit the L3 cache together with the weights.
constexpr int64_t kRowsAtATime = 768;

// The hidden values of a task.
detail::Workspace& task_memory() {
  thread_local detail::Workspace w;
  return w;
}

// x: (..., C) -> (rows, C), contiguous.
Tensor as_rows(const Tensor& x) {
  int64_t rows = 1;
  for (int i = 0; i + 1 < x.rank(); ++i) rows *= x.shape()[i];
  return reshape(x.contiguous(), {rows, x.dim(-1)});
}

Shape with_last(Shape shape, int64_t n) {
  shape[shape.size() - 1] = n;
  return shape;
}

void check_bias(const Tensor& bias, const Tensor& weight, const char* name) {
  if (!bias.defined()) return;
  check(bias.rank() == 1 && bias.dim(0) == weight.dim(0) && bias.dtype() == weight.dtype(), "mlp",
        "{} must be ({}) {}, got {} {}", name, weight.dim(0), name_of(weight.dtype()), bias.shape(),
        name_of(bias.dtype()));
}

void check_operands(const Tensor& x, const Tensor& w1, const Tensor& w2, Activation f) {
  check(w1.rank() == 2 && w2.rank() == 2 && x.rank() >= 1, "mlp",
        "needs x (..., C), W1 (F, C) and W2 (N, F), got {}, {} and {}", x.shape(), w1.shape(), w2.shape());
  check(x.dim(-1) == w1.dim(1), "mlp", "inner dimensions differ: x {} and W1 {}: {} != {}", x.shape(),
        w1.shape(), x.dim(-1), w1.dim(1));
  check(w1.dim(0) == w2.dim(1), "mlp", "inner dimensions differ: W1 {} and W2 {}: {} != {}", w1.shape(),
        w2.shape(), w1.dim(0), w2.dim(1));
  check(x.dtype() == w1.dtype() && x.dtype() == w2.dtype(), "mlp", "types differ: x {}, W1 {}, W2 {}",
        name_of(x.dtype()), name_of(w1.dtype()), name_of(w2.dtype()));
  check(f != Activation::none, "mlp", "needs an activation: without one it is a single matrix product");
}

}  // namespace

Tensor mlp(const Tensor& x, const Tensor& w1, const Tensor& b1, const Tensor& w2, const Tensor& b2,
           Activation f, Tensor* kept, Precision precision) {
  check_operands(x, w1, w2, f);
  check_bias(b1, w1, "b1");
  check_bias(b2, w2, "b2");
  const Tensor in = as_rows(x), first = b1.defined() ? b1.contiguous() : b1,
               second = b2.defined() ? b2.contiguous() : b2;
  const int64_t rows = in.dim(0), c = in.dim(1), hidden = w1.dim(0), n = w2.dim(0);
  Tensor y = Tensor::empty(with_last(x.shape(), n), x.dtype());
  if (kept) *kept = Tensor::empty(with_last(x.shape(), hidden), x.dtype());
  visit_floating("mlp", x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const T* px = in.data<T>();
    T* py = y.mutable_data<T>();
    T* pz = kept ? kept->mutable_data<T>() : nullptr;
    GemmOptions<T> up, down;
    up.precision = down.precision = precision;
    up.activation = f;
    if (b1.defined()) up.bias = first.data<T>();
    if (b2.defined()) down.bias = second.data<T>();
    const Matrix<T> up_weight = as_matrix<T>(w1).transposed(), down_weight = as_matrix<T>(w2).transposed();
    if (rows <= kRowsOfTask) {
      // Too few rows to pack weights for, or to share out.
      Tensor h = Tensor::empty({rows, hidden}, x.dtype());
      up.kept = pz;
      gemm<T>({px, rows, c, c, 1}, up_weight, h.mutable_data<T>(), hidden, up);
      gemm<T>({h.data<T>(), rows, hidden, hidden, 1}, down_weight, py, n, down);
      return;
    }
    const PackedFactor<T> packed_up(up_weight, precision), packed_down(down_weight, precision);
    parallel_for(rows, kRowsOfTask, [&](int64_t begin, int64_t end) {
      T* h = task_memory().get<T>(kRowsOfTask * hidden);
      GemmOptions<T> keeping = up;
      for (int64_t i = begin; i < end; i += kRowsOfTask) {
        const int64_t m = std::min(kRowsOfTask, end - i);
        if (pz) keeping.kept = pz + i * hidden;
        packed_up.multiply({px + i * c, m, c, c, 1}, h, hidden, keeping);
        packed_down.multiply({h, m, hidden, hidden, 1}, py + i * n, n, down);
      }
    });
  });
  return y;
}

MlpGradients mlp_backward(const Tensor& x, const Tensor& w1, const Tensor& w2, const Tensor& z,
                          const Tensor& dy, Activation f, bool want_db1, bool want_db2, Precision precision) {
  check_operands(x, w1, w2, f);
  const Tensor in = as_rows(x), hidden_in = as_rows(z), out = as_rows(dy);
  const int64_t rows = in.dim(0), c = in.dim(1), hidden = w1.dim(0), n = w2.dim(0);
  check(hidden_in.dim(0) == rows && hidden_in.dim(1) == hidden && out.dim(0) == rows && out.dim(1) == n,
        "mlp_backward", "z {} and dy {} do not belong to x {}", z.shape(), dy.shape(), x.shape());
  MlpGradients g;
  g.dx = Tensor::empty(x.shape(), x.dtype());
  // Without rows nothing below is written.
  g.dw1 = rows > 0 ? Tensor::empty(w1.shape(), x.dtype()) : zeros(w1.shape(), x.dtype());
  g.dw2 = rows > 0 ? Tensor::empty(w2.shape(), x.dtype()) : zeros(w2.shape(), x.dtype());
  if (want_db1) g.db1 = zeros({hidden}, x.dtype());
  if (want_db2) g.db2 = sum_to(out, {n});
  Tensor h = Tensor::empty({std::min(rows, kRowsAtATime), hidden}, x.dtype());
  Tensor dz = Tensor::empty(h.shape(), x.dtype());
  visit_floating("mlp_backward", x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    T *ph = h.mutable_data<T>(), *pdz = dz.mutable_data<T>(), *pdx = g.dx.mutable_data<T>();
    T *pdw1 = g.dw1.mutable_data<T>(), *pdw2 = g.dw2.mutable_data<T>();
    const T *px = in.data<T>(), *pz = hidden_in.data<T>(), *pdy = out.data<T>();
    std::optional<PackedFactor<T>> down, up;  // for many rows
    if (rows > kRowsOfTask) {
      down.emplace(as_matrix<T>(w2), precision);
      up.emplace(as_matrix<T>(w1), precision);
    }
    GemmOptions<T> plain, sum;
    plain.precision = sum.precision = precision;
    for (int64_t i = 0; i < rows; i += kRowsAtATime) {
      const int64_t m = std::min(kRowsAtATime, rows - i);
      const Matrix<T> dy_rows{pdy + i * n, m, n, n, 1}, x_rows{px + i * c, m, c, c, 1},
          dz_rows{pdz, m, hidden, hidden, 1};
      const auto activate_backward = [&](int64_t begin, int64_t end) {
        kernels<T>().gemm.activate_backward(f, (end - begin) * hidden, pz + (i + begin) * hidden,
                                            pdz + begin * hidden, ph + begin * hidden, pdz + begin * hidden);
      };
      if (!down) {
        gemm<T>(dy_rows, as_matrix<T>(w2), pdz, hidden, plain);  // dh; becomes dz in place
        activate_backward(0, m);
        gemm<T>(dz_rows, as_matrix<T>(w1), pdx + i * c, c, plain);
      } else {
        parallel_for(m, kRowsOfTask, [&](int64_t begin, int64_t end) {
          for (int64_t r = begin; r < end; r += kRowsOfTask) {
            const int64_t count = std::min(kRowsOfTask, end - r);
            T* task = pdz + r * hidden;
            down->multiply({pdy + (i + r) * n, count, n, n, 1}, task, hidden, plain);
            activate_backward(r, r + count);
            up->multiply({task, count, hidden, hidden, 1}, pdx + (i + r) * c, c, plain);
          }
        });
      }
      sum.accumulate = i > 0;
      gemm<T>(dy_rows.transposed(), {ph, m, hidden, hidden, 1}, pdw2, hidden, sum);
      gemm<T>(dz_rows.transposed(), x_rows, pdw1, c, sum);
      if (want_db1) add_(g.db1, sum_to(m == h.dim(0) ? dz : slice(dz, 0, 0, m), {hidden}));
    }
  });
  return g;
}

}  // namespace minigpt
