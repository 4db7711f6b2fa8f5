// The loops around the micro-kernel (Goto and van de Geijn 2008; see kernels/gemm.h):
//
//   for each column block of B, for each depth block:     B (depth x columns) is packed
//     for each row block of A (what stays in the L2 cache): A (rows x depth) is packed if that pays
//       the kernel runs over panels of B and tiles of A
//
// Only the rows and columns of C are split over threads, never k.
#include "tensor/gemm.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <new>
#include <type_traits>

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

// [begin, end) of part number `index` when `count` is cut into `parts` of nearly equal size.
struct Part {
  int64_t begin, end;
};
Part part_of(int64_t count, int64_t parts, int64_t index) {
  return {count * index / parts, count * (index + 1) / parts};
}

// One product with everything that its parts need to know.
// The kernels for factors rounded to bf16; double is not rounded.
template <class T>
const GemmKernels<T>& bf16_kernels() {
  if constexpr (std::is_same_v<T, float>)
    return kernel_set().gemm_bf16;
  else
    return kernels<T>().gemm;
}

template <class T>
class Product {
 public:
  Product(const Matrix<T>& a, const Matrix<T>& b, T* c, int64_t ldc, const GemmOptions<T>& options)
      : kernel_(options.precision == Precision::bf16 ? bf16_kernels<T>() : kernels<T>().gemm),
        a_(a),
        b_(b),
        c_(c),
        ldc_(ldc),
        options_(options) {}

  void run(bool parallel);

 private:
  // The part of the product that is computed at a time: all rows, a block of columns, a block of the depth.
  struct Block {
    Matrix<T> a, b;
    T* c;
    int64_t column;    // of C, where the block begins
    bool first, last;  // along the depth
  };
  // Panels of B from `panel` on, packed or where they lie.
  struct Panels {
    const T* data;
    int64_t panel, depth;  // from one panel, or one packed step of depth, to the next
  };

  void rows(bool parallel);
  void block(const Block& block, int64_t threads);
  void pack_b(const Block& block, int64_t first_panel, int64_t last_panel, T* out) const;
  void tiles(const Block& block, const Panels& b, Part rows, Part columns) const;
  bool worth_packing_a(const Matrix<T>& a, int64_t n) const;
  bool worth_packing_b(const Matrix<T>& b, int64_t m) const;
  int64_t steps(const Block& block) const { return ceil_div(block.a.cols, kernel_.depth_unit); }
  int64_t panel_size(const Block& block) const { return kernel_.column_tile * steps(block); }

  const GemmKernels<T>& kernel_;
  Matrix<T> a_, b_;
  T* c_;
  int64_t ldc_;
  GemmOptions<T> options_;
};

// Whether A should be packed for n columns. Rows that are contiguous along k stream well by themselves;
// packing them pays only if they are read for many panels, or if their distance is a multiple of 4096 bytes:
// then all rows of a tile compete for the same 8 lines of the L1 cache.
template <class T>
bool Product<T>::worth_packing_a(const Matrix<T>& a, int64_t n) const {
  if (kernel_.packed_only) return true;
  const bool rows_collide = a.row_stride * static_cast<int64_t>(sizeof(T)) % 4096 == 0;
  const int64_t panels = ceil_div(n, kernel_.column_tile);
  return panels > (a.col_stride == 1 && !rows_collide ? 32 : 4);
}

// B can be used where it lies if its rows are contiguous; packing pays when each panel is read many times.
template <class T>
bool Product<T>::worth_packing_b(const Matrix<T>& b, int64_t m) const {
  return kernel_.packed_only || b.col_stride != 1 || (m > 4 * kernel_.row_tile && b.rows * b.cols > 4096);
}

template <class T>
void Product<T>::pack_b(const Block& block, int64_t first_panel, int64_t last_panel, T* out) const {
  const int64_t first = first_panel * kernel_.column_tile;
  const int64_t last = std::min(last_panel * kernel_.column_tile, block.b.cols);
  kernel_.pack(kernel_.column_tile, last - first, block.b.rows, block.b.data + first * block.b.col_stride,
               block.b.col_stride, block.b.row_stride, out);
}

// C for some rows and columns, in row blocks that stay in the L2 cache. `b` begins at the first of the columns.
template <class T>
void Product<T>::tiles(const Block& block, const Panels& b, Part rows, Part columns) const {
  const bool pack_a = worth_packing_a(block.a, block.b.cols);
  for (int64_t i = rows.begin; i < rows.end; i += kernel_.row_block) {
    GemmBlock<T> g{};
    g.m = std::min(kernel_.row_block, rows.end - i);
    g.n = columns.end - columns.begin;
    g.k = steps(block);
    g.a = block.a.data + i * block.a.row_stride;
    g.a_row = block.a.row_stride;
    g.a_depth = block.a.col_stride;
    g.a_tile = kernel_.row_tile * block.a.row_stride;
    if (pack_a) {
      T* packed = workspace_for_a().template get<T>(round_up(g.m, kernel_.row_tile) * g.k);
      kernel_.pack(kernel_.row_tile, g.m, block.a.cols, g.a, block.a.row_stride, block.a.col_stride, packed);
      g.a = packed;
      g.a_row = 1;
      g.a_depth = kernel_.row_tile;
      g.a_tile = kernel_.row_tile * g.k;
    }
    g.b = b.data;
    g.b_panel = b.panel;
    g.b_depth = b.depth;
    const int64_t offset = i * ldc_ + columns.begin;
    g.c = block.c + offset;
    g.ldc = ldc_;
    g.accumulate = options_.accumulate || !block.first;
    if (block.first && options_.bias) g.bias = options_.bias + block.column + columns.begin;
    if (block.last) g.activation = options_.activation;
    if (options_.kept) g.kept = options_.kept + block.column + offset;
    kernel_.block(g);
  }
}

// Tasks are strips of columns that pack their own part of B, or bands of rows that share a packed B. Strips need
// no second round of the threads, but every one of them reads all of A, so A must be good as it lies.
template <class T>
void Product<T>::block(const Block& block, int64_t threads) {
  const int64_t m = block.a.rows, n = block.b.cols;
  const int64_t panels = ceil_div(n, kernel_.column_tile), panel = panel_size(block);
  const bool pack = worth_packing_b(block.b, m);
  const Panels in_place{block.b.data, kernel_.column_tile, block.b.row_stride};
  const auto columns_of = [&](Part p) {
    return Part{p.begin * kernel_.column_tile, std::min(p.end * kernel_.column_tile, n)};
  };

  const bool strips = threads > 1 && panels >= 2 * threads && !worth_packing_a(block.a, n);
  if (strips) {
    const int64_t tasks = std::min(2 * threads, panels / 2);
    return parallel_for(tasks, 1, [&](int64_t begin, int64_t end) {
      const Part mine{part_of(panels, tasks, begin).begin, part_of(panels, tasks, end - 1).end};
      const Part columns = columns_of(mine);
      Panels b{in_place.data + columns.begin, in_place.panel, in_place.depth};
      if (pack) {
        T* packed = workspace_for_b().template get<T>((mine.end - mine.begin) * panel);
        pack_b(block, mine.begin, mine.end, packed);
        b = {packed, panel, kernel_.column_tile};
      }
      tiles(block, b, {0, m}, columns);
    });
  }

  Panels b = in_place;
  if (pack) {
    T* packed = workspace_for_b().template get<T>(panels * panel);
    for_range(threads > 1, panels, ceil_div(32 * 1024, panel),
              [&](int64_t begin, int64_t end) { pack_b(block, begin, end, packed + begin * panel); });
    b = {packed, panel, kernel_.column_tile};
  }
  const int64_t row_tiles = ceil_div(m, kernel_.row_tile);
  int64_t bands = 1, column_parts = 1;
  if (threads > 1) {
    bands = std::min(round_up(ceil_div(m, kernel_.row_block), threads), row_tiles);
    if (bands < threads) column_parts = std::min(ceil_div(threads, bands), panels);
  }
  for_range(threads > 1, bands * column_parts, 1, [&](int64_t begin, int64_t end) {
    for (int64_t task = begin; task < end; ++task) {
      const Part band = part_of(row_tiles, bands, task / column_parts);
      const Part mine = part_of(panels, column_parts, task % column_parts);
      const Part rows{band.begin * kernel_.row_tile, std::min(band.end * kernel_.row_tile, m)};
      tiles(block, {b.data + mine.begin * b.panel, b.panel, b.depth}, rows, columns_of(mine));
    }
  });
}

// One to three rows: every row of C by itself, B as a stream.
template <class T>
void Product<T>::rows(bool parallel) {
  const int64_t n = b_.cols, k = a_.cols;
  for (int64_t i = 0; i < a_.rows; ++i) {
    const T* x = a_.data + i * a_.row_stride;
    if (a_.col_stride != 1) {
      T* packed = workspace_for_a().template get<T>(k);
      for (int64_t p = 0; p < k; ++p) packed[p] = x[p * a_.col_stride];
      x = packed;
    }
    const int64_t grain = round_up(ceil_div(kSerialBelow / 4, k), 64);
    for_range(parallel, n, grain, [&](int64_t begin, int64_t end) {
      T* y = c_ + i * ldc_ + begin;
      if (options_.bias) std::copy_n(options_.bias + begin, end - begin, y);
      kernel_.row(end - begin, k, x, b_.data + begin * b_.col_stride, b_.row_stride, b_.col_stride, y,
                  options_.accumulate || options_.bias);
      kernel_.activate(options_.activation, 1, end - begin, y,
                       options_.kept ? options_.kept + i * ldc_ + begin : nullptr, ldc_);
    });
  }
}

template <class T>
void Product<T>::run(bool parallel) {
  const int64_t m = a_.rows, n = b_.cols, k = a_.cols;
  if (m <= kFewRows && !kernel_.packed_only && (b_.row_stride == 1 || b_.col_stride == 1))
    return rows(parallel);

  // Equal depth blocks, so that the last one is not a sliver.
  const int64_t deepest = kernel_.depth_block * kernel_.depth_unit;
  const int64_t depth = round_up(ceil_div(k, ceil_div(k, deepest)), 8);
  for (int64_t j = 0; j < n; j += kColumnBlock) {
    const int64_t columns = std::min(kColumnBlock, n - j);
    for (int64_t p = 0; p < k; p += depth) {
      const int64_t deep = std::min(depth, k - p);
      const Matrix<T> a{a_.data + p * a_.col_stride, m, deep, a_.row_stride, a_.col_stride};
      const Matrix<T> b{b_.data + p * b_.row_stride + j * b_.col_stride, deep, columns, b_.row_stride,
                        b_.col_stride};
      block({a, b, c_ + j, j, p == 0, p + deep == k}, parallel ? num_threads() : 1);
    }
  }
}

// k = 0: the product of nothing is 0.
template <class T>
void empty_product(int64_t m, int64_t n, T* c, int64_t ldc, const GemmOptions<T>& o) {
  if (o.accumulate) return;
  for (int64_t i = 0; i < m; ++i) {
    if (o.bias)
      std::copy_n(o.bias, n, c + i * ldc);
    else
      std::fill_n(c + i * ldc, n, T(0));
  }
  kernels<T>().gemm.activate(o.activation, m, n, c, o.kept, ldc);
}

template <class T>
void multiply(const Matrix<T>& a, const Matrix<T>& b, T* c, int64_t ldc, const GemmOptions<T>& options,
              bool parallel) {
  const int64_t m = a.rows, n = b.cols, k = a.cols;
  check(k == b.rows, "gemm", "inner dimensions differ: ({}, {}) x ({}, {}): {} != {}", m, k, b.rows, n, k,
        b.rows);
  check(!options.accumulate || (!options.bias && options.activation == Activation::none), "gemm",
        "accumulate goes with neither a bias nor an activation");
  if (m == 0 || n == 0) return;
  if (k == 0) return empty_product(m, n, c, ldc, options);
  // A column is a row of the transposed product.
  if (n == 1 && m > 1 && ldc == 1 && !options.bias && options.precision == Precision::full)
    return multiply(b.transposed(), a.transposed(), c, m, options, parallel);
  parallel = parallel && num_threads() > 1 && !in_parallel_region() && m * n * k >= kSerialBelow;
  Product<T>(a, b, c, ldc, options).run(parallel);
}

}  // namespace

template <class T>
void gemm(const Matrix<T>& a, const Matrix<T>& b, T* c, int64_t ldc, const GemmOptions<T>& options) {
  multiply(a, b, c, ldc, options, true);
}

template <class T>
void gemm_serial(const Matrix<T>& a, const Matrix<T>& b, T* c, int64_t ldc, bool accumulate) {
  GemmOptions<T> options;
  options.accumulate = accumulate;
  multiply(a, b, c, ldc, options, false);
}

template void gemm(const Matrix<float>&, const Matrix<float>&, float*, int64_t, const GemmOptions<float>&);
template void gemm(const Matrix<double>&, const Matrix<double>&, double*, int64_t,
                   const GemmOptions<double>&);
template void gemm_serial(const Matrix<float>&, const Matrix<float>&, float*, int64_t, bool);
template void gemm_serial(const Matrix<double>&, const Matrix<double>&, double*, int64_t, bool);

}  // namespace minigpt
