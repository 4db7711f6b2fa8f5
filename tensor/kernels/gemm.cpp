// Compiled once per instruction set; see gemm.h. float and double in full precision; gemm_bf16.cpp has the other.
#include "tensor/kernels/gemm.h"

#include "tensor/kernels/gemm_pack.h"
#include "tensor/kernels/gemm_tile.h"

namespace minigpt::MINIGPT_ISA {

namespace {

// --- One row ------------------------------------------------------------------------------------------

// y[j] = dot(x, row j of B^T) for N rows at once, so that N loads of B share one of x and N sums hide the
// latency. Each dot product is summed in the same order whatever N is.
template <class T, int N>
void dots(int64_t k, const T* x, const T* b, int64_t column, T* y, bool accumulate) {
  using V = Vec<T>;
  V sum[N];
  unroll<N>([&](auto j) { sum[j] = T(0); });
  int64_t p = 0;
  for (; p + V::kWidth <= k; p += V::kWidth) {
    const V xv = V::load(x + p);
    unroll<N>([&](auto j) { sum[j] = fma(xv, V::load(b + j * column + p), sum[j]); });
  }
  if (p < k) {
    const V xv = V::load_n(x + p, k - p);
    unroll<N>([&](auto j) { sum[j] = fma(xv, V::load_n(b + j * column + p, k - p), sum[j]); });
  }
  unroll<N>([&](auto j) { y[j] = accumulate ? y[j] + reduce_sum(sum[j]) : reduce_sum(sum[j]); });
}

template <class T>
void row(int64_t n, int64_t k, const T* x, const T* b, int64_t b_depth, int64_t b_column, T* y,
         bool accumulate) {
  if (b_column == 1) {
    // B is contiguous along n: one row of C, 8 vectors wide, straight from memory.
    constexpr int kWide = 8;
    constexpr int64_t W = Vec<T>::kWidth;
    const GemmBlock<T> g{1,      n, k, x, 0, 0, 1, b, 0, b_depth, y, 0, accumulate, nullptr, Activation::none,
                         nullptr};
    int64_t j = 0;
    for (; j + kWide * W <= n; j += kWide * W)
      tile<FusedMultiplyAdd, T, 1, kWide, false>(g, x, b + j, y + j, nullptr, 0);
    for (; j + W <= n; j += W) tile<FusedMultiplyAdd, T, 1, 1, false>(g, x, b + j, y + j, nullptr, 0);
    if (j < n) tile<FusedMultiplyAdd, T, 1, 1, true>(g, x, b + j, y + j, nullptr, n - j);
  } else {
    constexpr int kAtOnce = 4;
    int64_t j = 0;
    for (; j + kAtOnce <= n; j += kAtOnce)
      dots<T, kAtOnce>(k, x, b + j * b_column, b_column, y + j, accumulate);
    for (; j < n; ++j) dots<T, 1>(k, x, b + j * b_column, b_column, y + j, accumulate);
  }
}

template <class T>
void bind_gemm(GemmKernels<T>& k) {
  k.row_tile = kRows;
  k.column_tile = kColumns<T>;
  k.row_block = kRowBlock<T>;
  k.depth_block = kDepthBlock;
  k.depth_unit = 1;
  k.packed_only = false;
  k.block = block<FusedMultiplyAdd, T>;
  k.pack = pack<Plain, T>;
  k.row = row<T>;
  k.activate = activate<T>;
  k.activate_backward = activate_backward<T>;
}

}  // namespace

void bind(GemmKernels<float>& k) { bind_gemm(k); }
void bind(GemmKernels<double>& k) { bind_gemm(k); }

}  // namespace minigpt::MINIGPT_ISA
