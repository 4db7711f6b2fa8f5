#include "tensor/attention.h"

#include <algorithm>

#include "tensor/dispatch.h"
#include "tensor/gemm.h"
#include "tensor/parallel.h"
#include "tensor/rows.h"

namespace minigpt {
namespace {

// Query rows of a block. More rows use each key more often once it is in the cache; fewer waste less on the
// triangle of future keys inside the block, and leave more of the cache to the scores. A multiple of the tile heights
// 6 and 12 of kernels/gemm_tile.h.
constexpr std::int64_t kBlockRows = 48;

// Extents, and where the rows of a head lie: rows of qkv are 3C apart, rows of out C.
struct Layout {
  std::int64_t B, T, C, H, D;

  Layout(std::string_view op, const Tensor& qkv, int heads, const DropoutBits* dropout) {
    check(qkv.defined() && qkv.rank() == 3, op, "qkv must be (B, T, 3C), got {}", qkv.shape());
    check(qkv.dim(2) % 3 == 0, op, "the last extent of qkv must be 3C, got {}", qkv.dim(2));
    B = qkv.dim(0), T = qkv.dim(1), C = qkv.dim(2) / 3, H = heads;
    check(heads >= 1, op, "needs at least one head, got {}", heads);
    check(C % heads == 0, op, "width {} cannot be divided into {} heads", C, heads);
    D = C / H;
    check(!dropout || (dropout->p >= 0 && dropout->p <= 1), op, "dropout must be in [0, 1], got {}",
          dropout ? dropout->p : 0.0);
  }

  bool empty() const { return B * T * C == 0; }
  // Heads per parallel chunk: enough for some ten microseconds.
  std::int64_t grain() const { return std::max<std::int64_t>(1, (1 << 16) / (T * T * D)); }
  std::int64_t in_qkv(std::int64_t head) const { return head / H * T * 3 * C + head % H * D; }
  std::int64_t in_out(std::int64_t head) const { return head / H * T * C + head % H * D; }
};

// Scratch memory of one thread, and the part of the kernel's arguments that no block changes. Storage is
// recycled, so that in steady state nothing is allocated.
template <class T>
struct Workspace {
  AttentionBlock<T> block{};
  Storage storage;
  T *scores, *gradients, *delta;

  Workspace(const Layout& l, double scale, const DropoutBits* dropout) {
    block.ld = (l.T + 15) / 16 * 16;  // rows start on cache lines
    block.scale = static_cast<T>(scale);
    block.words = dropout ? dropout->words : nullptr;
    block.bit_step = l.T;
    block.keep_scale = dropout ? static_cast<T>(dropout->scale()) : T(1);
    const std::int64_t tile = kBlockRows * block.ld;
    storage = Storage(static_cast<std::size_t>(2 * tile + kBlockRows + l.T + 32) * sizeof(T));
    scores = reinterpret_cast<T*>(storage.data());
    gradients = scores + tile;
    delta = gradients + tile;
    block.factors = delta + kBlockRows;
  }

  // Moves on to the block of queries that starts at `first`.
  void move_to(const Layout& l, std::int64_t head, std::int64_t first) {
    block.first = first;
    block.rows = std::min(kBlockRows, l.T - first);
    block.cols = first + block.rows;
    block.bit = (head * l.T + first) * l.T;
  }
};

template <class T>
Matrix<T> matrix(const T* data, std::int64_t rows, std::int64_t cols, std::int64_t ld) {
  return {data, rows, cols, ld, 1};
}
template <class T>
Matrix<T> transposed(const T* data, std::int64_t rows, std::int64_t cols, std::int64_t ld) {
  return matrix(data, rows, cols, ld).transposed();
}

// out = p v for a block in which something is not finite. Future keys have probability 0, but 0 * NaN is NaN.
// So each row is multiplied with a copy of v in which the keys that it may not see are 0. Shapes are those of
// the plain product, so that every row is summed in the same order as there.
template <class T>
void multiply_without_future(const Layout& l, const T* v, T* out, const Workspace<T>& work) {
  const std::int64_t first = work.block.first, rows = work.block.rows, keys = work.block.cols;
  const Storage storage(static_cast<std::size_t>((keys + rows) * l.D) * sizeof(T));
  T* seen = reinterpret_cast<T*>(storage.data());
  T* product = seen + keys * l.D;
  for (std::int64_t j = 0; j < keys; ++j) std::copy_n(v + j * 3 * l.C, l.D, seen + j * l.D);
  for (std::int64_t r = rows - 1; r >= 0; --r) {
    gemm_serial<T>(matrix<T>(work.scores, rows, keys, work.block.ld), matrix<T>(seen, keys, l.D, l.D),
                   product, l.D);
    std::copy_n(product + r * l.D, l.D, out + r * l.C);
    std::fill_n(seen + (first + r) * l.D, l.D, T(0));  // the rows above may not see this key
  }
}

// One head of one sequence. q, k, v: (T, D) with ld 3C; out: (T, D) with ld C; stats: (T, 2).
template <class T>
void forward_head(const Layout& l, std::int64_t head, const T* q, T* out, T* stats, Workspace<T>& work) {
  const AttentionKernels<T>& kernel = kernels<T>().attention;
  const std::int64_t ld = 3 * l.C, ld_s = work.block.ld;
  const T *k = q + l.C, *v = k + l.C;
  for (std::int64_t first = 0; first < l.T; first += kBlockRows) {
    work.move_to(l, head, first);
    const std::int64_t rows = work.block.rows, keys = work.block.cols;
    T* o = out + first * l.C;
    gemm_serial<T>(matrix(q + first * ld, rows, l.D, ld), transposed(k, keys, l.D, ld), work.scores, ld_s,
                   false);
    kernel.forward(work.block, work.scores, stats + first * 2);
    gemm_serial<T>(matrix(work.scores, rows, keys, ld_s), matrix(v, keys, l.D, ld), o, l.C, false);
    if (!kernel.all_finite(o, l.C, rows, l.D)) multiply_without_future(l, v, o, work);
  }
}

// One head of one sequence; dq, like q, is followed by the gradients of k and v. A head's dk and dv are sums
// over all of its blocks and belong to the thread that has the head. The last block comes first: it sees all
// keys, so that it can write where the others add.
template <class T>
void backward_head(const Layout& l, std::int64_t head, const T* q, const T* out, const T* stats,
                   const T* dout, T* dq, Workspace<T>& work) {
  const AttentionKernels<T>& kernel = kernels<T>().attention;
  const std::int64_t ld = 3 * l.C, ld_s = work.block.ld;
  const T *k = q + l.C, *v = k + l.C;
  T *dk = dq + l.C, *dv = dk + l.C;
  const std::int64_t last = (l.T - 1) / kBlockRows * kBlockRows;
  for (std::int64_t first = last; first >= 0; first -= kBlockRows) {
    work.move_to(l, head, first);
    const std::int64_t rows = work.block.rows, keys = work.block.cols;
    const bool add = first != last;
    const T *q_rows = q + first * ld, *dout_rows = dout + first * l.C;
    T *p = work.scores, *ds = work.gradients;  // (rows, keys): q.k then p * f; dp then ds * scale
    gemm_serial<T>(matrix(q_rows, rows, l.D, ld), transposed(k, keys, l.D, ld), p, ld_s, false);
    gemm_serial<T>(matrix(dout_rows, rows, l.D, l.C), transposed(v, keys, l.D, ld), ds, ld_s, false);
    kernel.row_dots(dout_rows, out + first * l.C, l.C, rows, l.D, work.delta);
    kernel.backward(work.block, p, ds, stats + first * 2, work.delta);
    gemm_serial<T>(transposed(p, rows, keys, ld_s), matrix(dout_rows, rows, l.D, l.C), dv, ld, add);
    gemm_serial<T>(matrix(ds, rows, keys, ld_s), matrix(k, keys, l.D, ld), dq + first * ld, ld, false);
    gemm_serial<T>(transposed(ds, rows, keys, ld_s), matrix(q_rows, rows, l.D, ld), dk, ld, add);
  }
}

}  // namespace

AttentionOutput causal_attention(const Tensor& qkv, int heads, double scale, const DropoutBits* dropout) {
  constexpr auto kOp = "causal_attention";
  const Layout l(kOp, qkv, heads, dropout);
  const Tensor in = qkv.contiguous();
  return visit_floating(kOp, qkv.dtype(), [&](auto zero) {
    using T = decltype(zero);
    AttentionOutput result{Tensor::empty({l.B, l.T, l.C}, qkv.dtype()),
                           Tensor::empty({l.B, l.H, l.T, 2}, qkv.dtype())};
    if (l.empty()) return result;
    const T* q = in.data<T>();
    T* out = result.out.template mutable_data<T>();
    T* stats = result.log_sum_exp.template mutable_data<T>();
    // Heads are independent of each other: whole heads are handed out, and no sum is ever split.
    parallel_for(l.B * l.H, l.grain(), [&](std::int64_t begin, std::int64_t end) {
      Workspace<T> work(l, scale, dropout);
      for (std::int64_t head = begin; head < end; ++head)
        forward_head(l, head, q + l.in_qkv(head), out + l.in_out(head), stats + head * l.T * 2, work);
    });
    return result;
  });
}

Tensor causal_attention_backward(const Tensor& qkv, const Tensor& out, const Tensor& log_sum_exp,
                                 const Tensor& dout, int heads, double scale, const DropoutBits* dropout) {
  constexpr auto kOp = "causal_attention_backward";
  const Layout l(kOp, qkv, heads, dropout);
  detail::check_same(kOp, "out", out, "dout", dout);
  check(dout.shape() == Shape{l.B, l.T, l.C}, kOp, "dout must be {} for qkv {}, got {}", Shape{l.B, l.T, l.C},
        qkv.shape(), dout.shape());
  check(log_sum_exp.defined() && log_sum_exp.shape() == Shape{l.B, l.H, l.T, 2}, kOp,
        "log_sum_exp must be {}, got {}", Shape{l.B, l.H, l.T, 2}, log_sum_exp.shape());
  const Tensor in = qkv.contiguous(), o = out.contiguous(), lse = log_sum_exp.contiguous(),
               d = dout.contiguous();
  return visit_floating(kOp, qkv.dtype(), [&](auto zero) {
    using T = decltype(zero);
    Tensor dqkv = Tensor::empty(qkv.shape(), qkv.dtype());
    if (l.empty()) return dqkv;
    const T *q = in.data<T>(), *o_data = o.data<T>(), *stats = lse.data<T>(), *d_data = d.data<T>();
    T* dq = dqkv.mutable_data<T>();
    parallel_for(l.B * l.H, l.grain(), [&](std::int64_t begin, std::int64_t end) {
      Workspace<T> work(l, scale, dropout);
      for (std::int64_t head = begin; head < end; ++head)
        backward_head(l, head, q + l.in_qkv(head), o_data + l.in_out(head), stats + head * l.T * 2,
                      d_data + l.in_out(head), dq + l.in_qkv(head), work);
    });
    return dqkv;
  });
}

}  // namespace minigpt
