// The loops around the micro-kernel (Goto and van de Geijn 2008; see kernels/gemm.h):
//
//   for each column block of B, for each depth block:   B (depth x columns) is packed once, by all threads
//     for each row block of A, split over the threads:  A (rows x depth) is packed by the thread that uses it
//       the kernel runs over panels of B and tiles of A
//
// Only the rows and columns of C are split over threads, never k.
#include "tensor/gemm.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <new>

#include "tensor/dispatch.h"
#include "tensor/error.h"
#include "tensor/parallel.h"

namespace minigpt {

namespace {

using std::int64_t;

// A packed column block stays below 2 MB (float), a part of the L3 cache.
constexpr int64_t kColumnBlock = 2048;
// Below this many multiply-adds (some 5 microseconds) a second thread does not pay.
constexpr int64_t kSerialBelow = 256 * 1024;
// Up to so many rows, packing B would cost more than reading it again for each row.
constexpr int64_t kFewRows = 3;

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
int64_t round_up(int64_t a, int64_t b) { return ceil_div(a, b) * b; }

// Memory of one thread for packed panels. It only grows, so the steady state allocates nothing.
class Workspace {
 public:
  template <class T>
  T* get(int64_t count) {
    const std::size_t bytes = static_cast<std::size_t>(count) * sizeof(T);
    if (bytes > bytes_) {
      memory_.reset();
      bytes_ = 0;
      memory_.reset(static_cast<std::byte*>(::operator new(bytes, kAlignment)));
      bytes_ = bytes;
    }
    return reinterpret_cast<T*>(memory_.get());
  }

 private:
  static constexpr std::align_val_t kAlignment{64};
  struct Free {
    void operator()(std::byte* p) const { ::operator delete(p, kAlignment); }
  };
  std::unique_ptr<std::byte, Free> memory_;
  std::size_t bytes_ = 0;
};

Workspace& workspace_for_a() {
  thread_local Workspace w;
  return w;
}
Workspace& workspace_for_b() {
  thread_local Workspace w;
  return w;
}

// fn(begin, end) over [0, n), on all threads or on this one.
void for_range(bool parallel, int64_t n, int64_t grain, FunctionRef<void(int64_t, int64_t)> fn) {
  if (parallel)
    parallel_for(n, grain, fn);
  else if (n > 0)
    fn(0, n);
}

// How the rows and columns of C are cut into tasks.
struct Split {
  int64_t rows, columns;  // of one task
  int64_t row_tasks, column_tasks;
};

// Row blocks as high as the cache allows, in equal parts for every thread; columns are split only if there
// are too few rows for that.
template <class T>
Split split(const GemmKernels<T>& kernel, int64_t m, int64_t n, int64_t threads) {
  Split s{};
  const int64_t blocks = round_up(ceil_div(m, kernel.row_block), threads);
  s.rows = round_up(ceil_div(m, blocks), kernel.row_tile);
  s.row_tasks = ceil_div(m, s.rows);
  s.column_tasks = std::min(ceil_div(threads, s.row_tasks), ceil_div(n, kernel.column_tile));
  s.columns = round_up(ceil_div(n, s.column_tasks), kernel.column_tile);
  s.column_tasks = ceil_div(n, s.columns);
  return s;
}

// Whether A should be packed for n columns. Rows that are contiguous along k stream well by themselves;
// packing them pays only if they are read for many panels, or if their distance is a multiple of 4096 bytes:
// then all rows of a tile compete for the same 8 lines of the L1 cache.
template <class T>
bool worth_packing_a(const GemmKernels<T>& kernel, const Matrix<T>& a, int64_t n) {
  const bool rows_collide = a.row_stride * static_cast<int64_t>(sizeof(T)) % 4096 == 0;
  const int64_t panels = ceil_div(n, kernel.column_tile);
  return panels > (a.col_stride == 1 && !rows_collide ? 32 : 4);
}

// C for a column block and a depth block.
template <class T>
void multiply_block(const Matrix<T>& a, const Matrix<T>& b, T* c, int64_t ldc, bool accumulate,
                    bool parallel) {
  const GemmKernels<T>& kernel = kernels<T>().gemm;
  const int64_t m = a.rows, n = b.cols, k = a.cols;

  // B can be used where it lies if its rows are contiguous; packing pays when each panel is read many times.
  const bool pack_b = b.col_stride != 1 || (m > 4 * kernel.row_tile && k * n > 4096);
  const T* b_data = b.data;
  int64_t b_panel = kernel.column_tile, b_depth = b.row_stride;
  if (pack_b) {
    b_depth = kernel.column_tile;
    b_panel = kernel.column_tile * k;
    const int64_t panels = ceil_div(n, kernel.column_tile);
    T* packed = workspace_for_b().template get<T>(panels * b_panel);
    for_range(parallel, panels, ceil_div(32 * 1024, b_panel), [&](int64_t begin, int64_t end) {
      const int64_t first = begin * kernel.column_tile, last = std::min(end * kernel.column_tile, n);
      kernel.pack(kernel.column_tile, last - first, k, b.data + first * b.col_stride, b.col_stride,
                  b.row_stride, packed + begin * b_panel);
    });
    b_data = packed;
  }

  const bool pack_a = worth_packing_a(kernel, a, n);
  const Split s = split(kernel, m, n, parallel ? num_threads() : 1);
  for_range(parallel, s.row_tasks * s.column_tasks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t task = begin; task < end; ++task) {
      const int64_t i = task / s.column_tasks * s.rows, j = task % s.column_tasks * s.columns;
      GemmBlock<T> g{};
      g.m = std::min(s.rows, m - i);
      g.n = std::min(s.columns, n - j);
      g.k = k;
      g.a = a.data + i * a.row_stride;
      g.a_row = a.row_stride;
      g.a_depth = a.col_stride;
      g.a_tile = kernel.row_tile * a.row_stride;
      if (pack_a) {
        T* packed = workspace_for_a().template get<T>(round_up(g.m, kernel.row_tile) * k);
        kernel.pack(kernel.row_tile, g.m, k, g.a, a.row_stride, a.col_stride, packed);
        g.a = packed;
        g.a_row = 1;
        g.a_depth = kernel.row_tile;
        g.a_tile = kernel.row_tile * k;
      }
      g.b = b_data + j / kernel.column_tile * b_panel;
      g.b_panel = b_panel;
      g.b_depth = b_depth;
      g.c = c + i * ldc + j;
      g.ldc = ldc;
      g.accumulate = accumulate;
      kernel.block(g);
    }
  });
}

// One to three rows: every row of C by itself, B as a stream.
template <class T>
void multiply_rows(const Matrix<T>& a, const Matrix<T>& b, T* c, int64_t ldc, bool accumulate,
                   bool parallel) {
  const GemmKernels<T>& kernel = kernels<T>().gemm;
  const int64_t n = b.cols, k = a.cols;
  for (int64_t i = 0; i < a.rows; ++i) {
    const T* x = a.data + i * a.row_stride;
    if (a.col_stride != 1) {
      T* packed = workspace_for_a().template get<T>(k);
      for (int64_t p = 0; p < k; ++p) packed[p] = x[p * a.col_stride];
      x = packed;
    }
    const int64_t grain = round_up(ceil_div(kSerialBelow / 4, k), 64);
    for_range(parallel, n, grain, [&](int64_t begin, int64_t end) {
      kernel.row(end - begin, k, x, b.data + begin * b.col_stride, b.row_stride, b.col_stride,
                 c + i * ldc + begin, accumulate);
    });
  }
}

template <class T>
void multiply(const Matrix<T>& a, const Matrix<T>& b, T* c, int64_t ldc, bool accumulate, bool parallel) {
  const int64_t m = a.rows, n = b.cols, k = a.cols;
  check(k == b.rows, "gemm", "inner dimensions differ: ({}, {}) x ({}, {}): {} != {}", m, k, b.rows, n, k,
        b.rows);
  if (m == 0 || n == 0) return;
  if (k == 0) {
    if (!accumulate)
      for (int64_t i = 0; i < m; ++i) std::fill_n(c + i * ldc, n, T(0));
    return;
  }
  // A column is a row of the transposed product.
  if (n == 1 && m > 1 && ldc == 1)
    return multiply(b.transposed(), a.transposed(), c, m, accumulate, parallel);

  parallel = parallel && num_threads() > 1 && !in_parallel_region() && m * n * k >= kSerialBelow;
  if (m <= kFewRows && (b.row_stride == 1 || b.col_stride == 1))
    return multiply_rows(a, b, c, ldc, accumulate, parallel);

  // Equal depth blocks, so that the last one is not a sliver.
  const int64_t depth = round_up(ceil_div(k, ceil_div(k, kernels<T>().gemm.depth_block)), 8);
  for (int64_t j = 0; j < n; j += kColumnBlock) {
    const int64_t columns = std::min(kColumnBlock, n - j);
    for (int64_t p = 0; p < k; p += depth) {
      const int64_t steps = std::min(depth, k - p);
      const Matrix<T> a_block{a.data + p * a.col_stride, m, steps, a.row_stride, a.col_stride};
      const Matrix<T> b_block{b.data + p * b.row_stride + j * b.col_stride, steps, columns, b.row_stride,
                              b.col_stride};
      multiply_block(a_block, b_block, c + j, ldc, accumulate || p > 0, parallel);
    }
  }
}

}  // namespace

template <class T>
void gemm(const Matrix<T>& a, const Matrix<T>& b, T* c, int64_t ldc, bool accumulate) {
  multiply(a, b, c, ldc, accumulate, true);
}

template <class T>
void gemm_serial(const Matrix<T>& a, const Matrix<T>& b, T* c, int64_t ldc, bool accumulate) {
  multiply(a, b, c, ldc, accumulate, false);
}

template void gemm(const Matrix<float>&, const Matrix<float>&, float*, int64_t, bool);
template void gemm(const Matrix<double>&, const Matrix<double>&, double*, int64_t, bool);
template void gemm_serial(const Matrix<float>&, const Matrix<float>&, float*, int64_t, bool);
template void gemm_serial(const Matrix<double>&, const Matrix<double>&, double*, int64_t, bool);

}  // namespace minigpt
