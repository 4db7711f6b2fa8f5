#pragma once
// What one thread does in a matrix product: some rows times packed panels of B. Used by gemm.cpp and
// gemm_packed.cpp only.

#include <algorithm>
#include <type_traits>

#include "tensor/dispatch.h"
#include "tensor/gemm.h"
#include "tensor/workspace.h"

namespace minigpt::detail {

using std::int64_t;

inline int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
inline int64_t round_up(int64_t a, int64_t b) { return ceil_div(a, b) * b; }

inline Workspace& workspace_for_a() {
  thread_local Workspace w;
  return w;
}

// The kernels for a precision; double is not rounded.
template <class T>
const GemmKernels<T>& gemm_kernels(Precision precision) {
  if constexpr (std::is_same_v<T, float>)
    if (precision == Precision::bf16) return kernel_set().gemm_bf16;
  return kernels<T>().gemm;
}

// k in equal depth blocks, so that the last one is not a sliver. Every sum is made block by block: equal blocks in
// all routines make equal bits.
template <class T>
int64_t depth_of_block(const GemmKernels<T>& kernel, int64_t k) {
  const int64_t deepest = kernel.depth_block * kernel.depth_unit;
  return round_up(ceil_div(k, ceil_div(k, deepest)), 8);
}

// Whether A should be packed for n columns. Rows that are contiguous along k stream well by themselves;
// packing them pays only if they are read for many panels, or if their distance is a multiple of 4096 bytes:
// then all rows of a tile compete for the same 8 lines of the L1 cache.
template <class T>
bool worth_packing_a(const GemmKernels<T>& kernel, const Matrix<T>& a, int64_t n) {
  if (kernel.packed_only) return true;
  const bool rows_collide = a.row_stride * static_cast<int64_t>(sizeof(T)) % 4096 == 0;
  const int64_t panels = ceil_div(n, kernel.column_tile);
  return panels > (a.col_stride == 1 && !rows_collide ? 32 : 4);
}

// Panels of B, packed or where they lie.
template <class T>
struct GemmPanels {
  const T* data;
  int64_t columns;
  int64_t panel, depth;  // from one panel, or one packed step of depth, to the next
};

// C = A B, or what `options` make of it, in row blocks that stay in the L2 cache. Of the whole product, A may be
// the depths of one slab: `first` and `last` tell whether sums begin and end here.
template <class T>
void multiply_tiles(const GemmKernels<T>& kernel, const Matrix<T>& a, bool pack_a, const GemmPanels<T>& b,
                    T* c, int64_t ldc, const GemmOptions<T>& options, int64_t depth, bool first, bool last) {
  GemmBlock<T> g{};
  g.n = b.columns;
  g.b_panel = b.panel;
  g.b_depth = b.depth;
  g.ldc = ldc;
  for (int64_t i = 0; i < a.rows; i += kernel.row_block) {
    g.m = std::min(kernel.row_block, a.rows - i);
    g.c = c + i * ldc;
    g.kept = options.kept ? options.kept + i * ldc : nullptr;
    for (int64_t p = 0; p < a.cols; p += depth) {
      const int64_t deep = std::min(depth, a.cols - p);
      const bool begins = first && p == 0, ends = last && p + deep == a.cols;
      g.k = ceil_div(deep, kernel.depth_unit);
      g.a = a.data + i * a.row_stride + p * a.col_stride;
      g.a_row = a.row_stride;
      g.a_depth = a.col_stride;
      g.a_tile = kernel.row_tile * a.row_stride;
      if (pack_a) {
        T* packed = workspace_for_a().template get<T>(round_up(g.m, kernel.row_tile) * g.k);
        kernel.pack(kernel.row_tile, g.m, deep, g.a, a.row_stride, a.col_stride, packed);
        g.a = packed;
        g.a_row = 1;
        g.a_depth = kernel.row_tile;
        g.a_tile = kernel.row_tile * g.k;
      }
      g.b = b.data + p / kernel.depth_unit * b.depth;
      g.accumulate = options.accumulate || !begins;
      g.bias = begins ? options.bias : nullptr;
      g.activation = ends ? options.activation : Activation::none;
      kernel.block(g);
    }
  }
}

}  // namespace minigpt::detail
