// Compiled once per instruction set; see gemm.h.
#include "tensor/kernels/gemm.h"

#include "tensor/simd/unroll.h"
#include "tensor/simd/vec.h"

namespace minigpt::MINIGPT_ISA {

namespace {

// --- Sizes --------------------------------------------------------------------------------------------
//
// Register tile: kRows x kVecs vectors of C stay in registers, next to kVecs vectors of B and one broadcast
// element of A. A step of k costs kRows + kVecs loads and kRows * kVecs multiply-adds. A core starts 2 of
// each per cycle, and a multiply-add takes 4 cycles, so at least 8 independent sums are needed, and more
// multiply-adds than loads.
//   AVX2      6 x 2 = 12 sums + 2 + 1 = 15 of 16 registers;   8 loads for 12 multiply-adds
//   AVX-512  12 x 2 = 24 sums + 2 + 1 = 27 of 32;            14 loads for 24
//   scalar    2 x 4 =  8 sums + 4 + 1 = 13 of 16
// (14 x 2 would fit AVX-512 as well, but 12 divides the usual widths 384 and 768.)
#if defined(MINIGPT_ISA_avx512)
constexpr int kRegisters = 32, kRows = 12, kVecs = 2;
#elif defined(MINIGPT_ISA_avx2)
constexpr int kRegisters = 16, kRows = 6, kVecs = 2;
#else
constexpr int kRegisters = 16, kRows = 2, kVecs = 4;
#endif
static_assert(kRows * kVecs + kVecs + 1 <= kRegisters, "the micro-kernel would spill");

template <class T>
constexpr int64_t kColumns = Vec<T>::kWidth* kVecs;

// Depth block: every tile of A reads the same panel of B (depth x kColumns) again, so the panel should live
// in the L1 cache (32 kB) and leave room for the tile of A (depth x kRows) that streams past it, and for C.
//   AVX2: panel 256 * 64 bytes = 16 kB, tile 6 kB.
//   AVX-512: 32 kB and 12 kB: the panel comes from L2 instead, 128 bytes for 24 multiply-adds, which L2
//   delivers (64 bytes in 2 cycles); a depth of 128 would fit but read and write C twice as often.
constexpr int64_t kDepthBlock = 256;
// Row block: A (rows x depth) is read again for every panel of B and should fill no more than half of the L2
// cache (512 kB on the smallest CPUs in mind): 240 rows of float, 120 of double. A multiple of every kRows.
template <class T>
constexpr int64_t kRowBlock = 240 * int64_t(sizeof(float)) / int64_t(sizeof(T));
static_assert(kRowBlock<float> % kRows == 0 && kRowBlock<double> % kRows == 0);
static_assert(kRowBlock<float> * kDepthBlock * int64_t(sizeof(float)) <= 512 * 1024 / 2);

// --- The micro-kernel ---------------------------------------------------------------------------------

// One tile of C: R rows of NV vectors, the last of which has `lanes` valid lanes if kMasked.
template <class T, int R, int NV, bool kMasked>
inline void tile(const GemmBlock<T>& g, const T* a, const T* b, T* c, int64_t lanes) {
  using V = Vec<T>;
  constexpr int W = V::kWidth;
  V sum[R][NV];
  unroll<R>([&](auto r) { unroll<NV>([&](auto v) { sum[r][v] = T(0); }); });

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
      unroll<NV>([&](auto v) { sum[r][v] = fma(av, bv[v], sum[r][v]); });
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
template <class T, int NV, bool kMasked>
void panel(const GemmBlock<T>& g, const T* b, T* c, int64_t lanes) {
  const T* a = g.a;
  int64_t rows = g.m;
  for (; rows >= kRows; rows -= kRows, a += g.a_tile, c += kRows * g.ldc)
    tile<T, kRows, NV, kMasked>(g, a, b, c, lanes);
  if constexpr (kRows > 4)
    for (; rows >= 4; rows -= 4, a += 4 * g.a_row, c += 4 * g.ldc) tile<T, 4, NV, kMasked>(g, a, b, c, lanes);
  if constexpr (kRows > 2)
    for (; rows >= 2; rows -= 2, a += 2 * g.a_row, c += 2 * g.ldc) tile<T, 2, NV, kMasked>(g, a, b, c, lanes);
  if (rows > 0) tile<T, 1, NV, kMasked>(g, a, b, c, lanes);
}

// The last panel may be narrower: as many vectors as it needs, the last one masked.
template <class T, int NV = kVecs>
void last_panel(const GemmBlock<T>& g, const T* b, T* c, int64_t columns) {
  constexpr int64_t W = Vec<T>::kWidth;
  if (columns > (NV - 1) * W) return panel<T, NV, true>(g, b, c, columns - (NV - 1) * W);
  if constexpr (NV > 1) last_panel<T, NV - 1>(g, b, c, columns);
}

template <class T>
void block(const GemmBlock<T>& g) {
  const T* b = g.b;
  int64_t j = 0;
  for (; j + kColumns<T> <= g.n; j += kColumns<T>, b += g.b_panel) panel<T, kVecs, false>(g, b, g.c + j, 0);
  if (j < g.n) last_panel(g, b, g.c + j, g.n - j);
}

// --- Packing ------------------------------------------------------------------------------------------

// One panel of `width` values per column, `valid` of them real. The width need not be a multiple of the
// vector width W: the last store of a column then spills over the start of the next one, which is written
// afterwards. Only the very last column must not write past its end.

// The values of a column are contiguous in memory: plain copies.
template <class T>
void pack_rows(int64_t width, int64_t valid, int64_t depth, const T* x, int64_t depth_stride, T* out) {
  using V = Vec<T>;
  constexpr int W = V::kWidth;
  int64_t p = 0;
  // Loading whole vectors is safe as long as there is a next row of x to run into.
  if (valid == width && depth_stride >= W)
    for (; p + 1 < depth; ++p)
      for (int64_t i = 0; i < width; i += W) V::load(x + p * depth_stride + i).store(out + p * width + i);
  for (; p < depth; ++p) {
    for (int64_t i = 0; i < width; i += W) {
      const int64_t lanes = valid - i < W ? (valid > i ? valid - i : 0) : W;
      const V v = V::load_n(x + p * depth_stride + i, lanes);
      if (i + W <= width || p + 1 < depth)
        v.store(out + p * width + i);
      else
        v.store_n(out + p * width + i, width - i);
    }
  }
}

// The values along the depth are contiguous: W x W of them at a time are transposed in registers. Groups of W
// values go from the last to the first, so that a spill comes before what belongs there.
template <class T>
void pack_columns(int64_t width, int64_t valid, int64_t depth, const T* x, int64_t stride, T* out) {
  using V = Vec<T>;
  constexpr int W = V::kWidth;
  for (int64_t i = (width - 1) / W * W; i >= 0; i -= W) {
    for (int64_t p = 0; p < depth; p += W) {
      const int64_t steps = depth - p < W ? depth - p : W;
      V t[W];
      if (steps == W && i + W <= valid) {
        for (int r = 0; r < W; ++r) t[r] = V::load(x + (i + r) * stride + p);
      } else {
        for (int r = 0; r < W; ++r)
          t[r] = i + r < valid ? V::load_n(x + (i + r) * stride + p, steps) : V(T(0));
      }
      V::transpose(t);
      for (int r = 0; r < steps; ++r) {
        T* target = out + (p + r) * width + i;
        if (i + W <= width || p + r + 1 < depth)
          t[r].store(target);
        else
          t[r].store_n(target, width - i);
      }
    }
  }
}

template <class T>
void pack(int64_t width, int64_t count, int64_t depth, const T* x, int64_t stride, int64_t depth_stride,
          T* out) {
  for (int64_t i = 0; i < count; i += width, x += width * stride, out += width * depth) {
    const int64_t valid = count - i < width ? count - i : width;
    if (stride == 1) {
      pack_rows(width, valid, depth, x, depth_stride, out);
    } else if (depth_stride == 1) {
      pack_columns(width, valid, depth, x, stride, out);
    } else {
      for (int64_t p = 0; p < depth; ++p)
        for (int64_t r = 0; r < width; ++r)
          out[p * width + r] = r < valid ? x[r * stride + p * depth_stride] : T(0);
    }
  }
}

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
    const GemmBlock<T> g{1, n, k, x, 0, 0, 1, b, 0, b_depth, y, 0, accumulate};
    int64_t j = 0;
    for (; j + kWide * W <= n; j += kWide * W) tile<T, 1, kWide, false>(g, x, b + j, y + j, 0);
    for (; j + W <= n; j += W) tile<T, 1, 1, false>(g, x, b + j, y + j, 0);
    if (j < n) tile<T, 1, 1, true>(g, x, b + j, y + j, n - j);
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
  k.block = block<T>;
  k.pack = pack<T>;
  k.row = row<T>;
}

}  // namespace

void bind(GemmKernels<float>& k) { bind_gemm(k); }
void bind(GemmKernels<double>& k) { bind_gemm(k); }

}  // namespace minigpt::MINIGPT_ISA
