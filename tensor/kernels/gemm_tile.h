#pragma once
// The register-blocked micro-kernel and the loops directly around it.

#include "tensor/kernels/gemm_epilogue.h"
#include "tensor/simd/unroll.h"
#include "tensor/simd/vec.h"

namespace minigpt::MINIGPT_ISA {

// --- Sizes --------------------------------------------------------------------------------------------
//
// Register tile: kRows x kVecs vectors of C stay in registers, next to kVecs vectors of B and one broadcast
// element of A. A step of k costs kRows + kVecs loads and kRows * kVecs multiply-adds. A core starts 2 of
// each per cycle, and a multiply-add takes 4 cycles, so at least 8 independent sums are needed, and more
// multiply-adds than loads.
//   AVX2      6 x 2 = 12 sums + 2 + 1 = 15 of 16 registers;   8 loads for 12 multiply-adds
//   AVX-512  12 x 2 = 24 sums + 2 + 1 = 27 of 32;            14 loads for 24
//   scalar    2 x 4 =  8 sums + 4 + 1 = 13 of 16
//   NEON      6 x 4 = 24 sums + 4 + 1 = 29 of 32;            10 loads for 24
// (14 x 2 would fit AVX-512 as well, but 12 divides the usual widths 384 and 768.)
#if defined(MINIGPT_ISA_avx512)
inline constexpr int kRegisters = 32, kRows = 12, kVecs = 2;
#elif defined(MINIGPT_ISA_avx2)
inline constexpr int kRegisters = 16, kRows = 6, kVecs = 2;
#elif defined(MINIGPT_ISA_neon)
// (8 x 3 takes 28 registers, but 11 loads, and 12 columns do not divide a head of 64. A core that starts 4
// multiply-adds per cycle needs 16 sums, and has them.)
inline constexpr int kRegisters = 32, kRows = 6, kVecs = 4;
#else
inline constexpr int kRegisters = 16, kRows = 2, kVecs = 4;
#endif
static_assert(kRows * kVecs + kVecs + 1 <= kRegisters, "the micro-kernel would spill");

template <class T>
inline constexpr int64_t kColumns = Vec<T>::kWidth* kVecs;

// Depth block: every tile of A reads the same panel of B (depth x kColumns) again, and C is read and written once
// per depth block, so the panel should stay close and the depth be large.
//   AVX2: panel 384 * 64 bytes = 24 kB of a 32 kB L1 cache, past which a tile of A (9 kB) streams.
//   AVX-512: 48 kB: the panel comes from L2 instead, 128 bytes for 24 multiply-adds, which L2 delivers (64 bytes in 2
//   cycles).
// A depth of 256 leaves more room in L1, but cost 3 % of a training step: 384 is the width of a small GPT and half of the
// 768 rows of its batches, so that products have one or two depth blocks in place of two or three.
inline constexpr int64_t kDepthBlock = 384;
// Row block: A (rows x depth) is read again for every panel of B and should fill no more than half of the L2
// cache (512 kB on the smallest CPUs in mind): 168 rows of float, 84 of double. A multiple of every kRows.
template <class T>
inline constexpr int64_t kRowBlock = 168 * int64_t(sizeof(float)) / int64_t(sizeof(T));
static_assert(kRowBlock<float> % kRows == 0 && kRowBlock<double> % kRows == 0);
static_assert(kRowBlock<float> * kDepthBlock * int64_t(sizeof(float)) <= 512 * 1024 / 2);

// --- The micro-kernel ---------------------------------------------------------------------------------

// What one step along the depth adds to a sum; kernels/gemm_bf16.cpp has another one.
struct FusedMultiplyAdd {
  template <class T>
  static Vec<T> add(Vec<T> a, Vec<T> b, Vec<T> sum) {
    return fma(a, b, sum);
  }
};

// One tile of C: R rows of NV vectors, the last of which has `lanes` valid lanes if kMasked.
template <class Product, class T, int R, int NV, bool kMasked>
inline void tile(const GemmBlock<T>& g, const T* a, const T* b, T* c, const T* bias, int64_t lanes) {
  using V = Vec<T>;
  constexpr int W = V::kWidth;
  V sum[R][NV];
  // A bias costs nothing here: it is where the sum begins.
  if (bias) {
    unroll<NV>([&](auto v) {
      const V start = kMasked && v == NV - 1 ? V::load_n(bias + v * W, lanes) : V::load(bias + v * W);
      unroll<R>([&](auto r) { sum[r][v] = start; });
    });
  } else {
    unroll<R>([&](auto r) { unroll<NV>([&](auto v) { sum[r][v] = T(0); }); });
  }

  // Copies: the stores to C below might change *g for all the compiler knows.
  const int64_t k = g.k, ldc = g.ldc, a_row = g.a_row, a_depth = g.a_depth, b_depth = g.b_depth;
  // The tile of C will be needed in the end, and comes from far away if C is large.
  unroll<R>([&](auto r) { __builtin_prefetch(c + r * ldc, 1); });

  for (int64_t p = 0; p < k; ++p) {
    V bv[NV];
    unroll<NV>([&](auto v) {
      const bool masked = kMasked && v == NV - 1;
      bv[v] = masked ? V::load_n(b + v * W, lanes) : V::load(b + v * W);
    });
    unroll<R>([&](auto r) {
      const V av = a[r * a_row];
      unroll<NV>([&](auto v) { sum[r][v] = Product::add(av, bv[v], sum[r][v]); });
    });
    a += a_depth;
    b += b_depth;
  }

  const auto finish = [&](auto accumulate) {
    unroll<R>([&](auto r) {
      unroll<NV>([&](auto v) {
        const bool masked = kMasked && v == NV - 1;
        T* out = c + r * ldc + v * W;
        V y = sum[r][v];
        if (accumulate) y = (masked ? V::load_n(out, lanes) : V::load(out)) + y;
        if (masked)
          y.store_n(out, lanes);
        else
          y.store(out);
      });
    });
  };
  if (g.accumulate)
    finish(Index<1>{});
  else
    finish(Index<0>{});
}

// One panel of C: NV vectors wide, all rows. What is left below the full tiles is done in tiles of 4, 2 and 1
// rows; an instance for every height would double the code for nothing.
template <class Product, class T, int NV, bool kMasked>
void panel(const GemmBlock<T>& g, const T* b, int64_t column, int64_t lanes) {
  const T* a = g.a;
  const T* bias = g.bias ? g.bias + column : nullptr;
  int64_t row = 0;
  const auto next = [&](auto rows, int64_t a_step) {
    T* c = g.c + row * g.ldc + column;
    tile<Product, T, decltype(rows)::kValue, NV, kMasked>(g, a, b, c, bias, lanes);
    a += a_step;
    row += rows;
  };
  while (g.m - row >= kRows) next(Index<kRows>{}, g.a_tile);
  if constexpr (kRows > 4)
    while (g.m - row >= 4) next(Index<4>{}, 4 * g.a_row);
  if constexpr (kRows > 2)
    while (g.m - row >= 2) next(Index<2>{}, 2 * g.a_row);
  if (g.m > row) next(Index<1>{}, 0);
}

// The last panel may be narrower: as many vectors as it needs, the last one masked.
template <class Product, class T, int NV = kVecs>
void last_panel(const GemmBlock<T>& g, const T* b, int64_t column) {
  constexpr int64_t W = Vec<T>::kWidth;
  const int64_t columns = g.n - column;
  if (columns > (NV - 1) * W) return panel<Product, T, NV, true>(g, b, column, columns - (NV - 1) * W);
  if constexpr (NV > 1) last_panel<Product, T, NV - 1>(g, b, column);
}

template <class Product, class T>
void block(const GemmBlock<T>& g) {
  const T* b = g.b;
  int64_t j = 0;
  for (; j + kColumns<T> <= g.n; j += kColumns<T>, b += g.b_panel)
    panel<Product, T, kVecs, false>(g, b, j, 0);
  if (j < g.n) last_panel<Product>(g, b, j);
  activate(g.activation, g.m, g.n, g.c, g.kept, g.ldc);
}

}  // namespace minigpt::MINIGPT_ISA
