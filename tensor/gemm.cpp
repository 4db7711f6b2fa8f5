// The loops around the micro-kernel (Goto and van de Geijn 2008; see kernels/gemm.h):
//
//   for each slab, a block of columns and a few blocks of depth:   B (depth x columns) is packed
//     for each row block of A (what stays in the L2 cache), for each depth block:
//       A (rows x depth) is packed if that pays
//       the kernel runs over panels of B and tiles of A
//
// Only the rows and columns of C are split over threads, never k. The threads meet twice per slab, so a slab should be
// large; and as one core may be slower than another, each thread has several parts of it to take.
#include "tensor/gemm.h"

#include <algorithm>

#include "tensor/error.h"
#include "tensor/gemm_tiles.h"
#include "tensor/parallel.h"

namespace minigpt {

namespace {

using detail::ceil_div, detail::round_up, detail::Workspace, detail::workspace_for_a;
using std::int64_t;

constexpr int64_t kColumnBlock = 2048;
// What a slab reads more than once, B and a transposed A (times 4 bytes for float: 6 MB), should stay in the L3 cache.
constexpr int64_t kSlab = 1536 * 1024;
// Parts of C that a thread takes one after the other. A part of A with fewer rows than kLeastBand would read
// packed B from the L3 cache too often: 1.3 bytes per cycle with 48 rows of a 6 x 16 tile.
constexpr int64_t kPartsPerThread = 8;
constexpr int64_t kLeastBand = 48;
// Below this many multiply-adds (some 5 microseconds) a second thread does not pay.
constexpr int64_t kSerialBelow = 256 * 1024;
// Up to so many rows, packing B would cost more than reading it again for each row.
constexpr int64_t kFewRows = 3;

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
template <class T>
class Product {
 public:
  Product(const Matrix<T>& a, const Matrix<T>& b, T* c, int64_t ldc, const GemmOptions<T>& options)
      : kernel_(detail::gemm_kernels<T>(options.precision)),
        a_(a),
        b_(b),
        c_(c),
        ldc_(ldc),
        options_(options) {}

  void run(bool parallel);

 private:
  // The part of the product that the threads compute together: all rows, a block of columns, some of the depth.
  struct Slab {
    Matrix<T> a, b;
    T* c;
    int64_t column;    // of C, where the slab begins
    int64_t depth;     // of a depth block
    bool first, last;  // along the depth
  };
  using Panels = detail::GemmPanels<T>;

  void rows(bool parallel);
  void multiply(const Slab& slab, int64_t threads);
  void pack_b(const Slab& slab, int64_t first_panel, int64_t last_panel, T* out) const;
  void tiles(const Slab& slab, const Panels& b, int64_t row, int64_t rows, int64_t column) const;
  bool worth_packing_b(const Matrix<T>& b, int64_t m) const;
  int64_t steps(const Slab& slab) const { return ceil_div(slab.a.cols, kernel_.depth_unit); }
  int64_t panel_size(const Slab& slab) const { return kernel_.column_tile * steps(slab); }

  const GemmKernels<T>& kernel_;
  Matrix<T> a_, b_;
  T* c_;
  int64_t ldc_;
  GemmOptions<T> options_;
};

// B can be used where it lies if its rows are contiguous; packing pays when each panel is read many times.
template <class T>
bool Product<T>::worth_packing_b(const Matrix<T>& b, int64_t m) const {
  return kernel_.packed_only || b.col_stride != 1 || (m > 4 * kernel_.row_tile && b.rows * b.cols > 4096);
}

template <class T>
void Product<T>::pack_b(const Slab& slab, int64_t first_panel, int64_t last_panel, T* out) const {
  const int64_t first = first_panel * kernel_.column_tile;
  const int64_t last = std::min(last_panel * kernel_.column_tile, slab.b.cols);
  kernel_.pack(kernel_.column_tile, last - first, slab.b.rows, slab.b.data + first * slab.b.col_stride,
               slab.b.col_stride, slab.b.row_stride, out);
}

// C for some rows and columns; `b` begins at the first of the columns.
template <class T>
void Product<T>::tiles(const Slab& slab, const Panels& b, int64_t row, int64_t rows, int64_t column) const {
  const Matrix<T> a{slab.a.data + row * slab.a.row_stride, rows, slab.a.cols, slab.a.row_stride,
                    slab.a.col_stride};
  const int64_t offset = row * ldc_ + column;
  GemmOptions<T> options = options_;
  if (options.bias) options.bias += slab.column + column;
  if (options.kept) options.kept += slab.column + offset;
  detail::multiply_tiles(kernel_, a, detail::worth_packing_a(kernel_, slab.a, slab.b.cols), b,
                         slab.c + offset, ldc_, options, slab.depth, slab.first, slab.last);
}

// Tasks are strips of columns that pack their own part of B, or bands of rows that share a packed B. Strips need
// no second round of the threads, but every one of them reads all of A, so A must be good as it lies.
template <class T>
void Product<T>::multiply(const Slab& slab, int64_t threads) {
  const int64_t m = slab.a.rows, n = slab.b.cols;
  const int64_t panels = ceil_div(n, kernel_.column_tile), panel = panel_size(slab);
  const bool pack = worth_packing_b(slab.b, m);
  // Panels [mine.begin, mine.end), packed at `packed` or, if that is null, where they lie.
  const auto panels_of = [&](Part mine, const T* packed) {
    const int64_t first = mine.begin * kernel_.column_tile;
    const int64_t columns = std::min(mine.end * kernel_.column_tile, n) - first;
    return packed ? Panels{packed, columns, panel, kernel_.column_tile}
                  : Panels{slab.b.data + first, columns, kernel_.column_tile, slab.b.row_stride};
  };

  const bool strips = threads > 1 && panels >= 2 * threads && !detail::worth_packing_a(kernel_, slab.a, n);
  if (strips) {
    const int64_t tasks = std::min(2 * threads, panels / 2);
    return parallel_for(tasks, 1, [&](int64_t begin, int64_t end) {
      const Part mine{part_of(panels, tasks, begin).begin, part_of(panels, tasks, end - 1).end};
      T* packed = nullptr;
      if (pack) {
        packed = workspace_for_b().template get<T>((mine.end - mine.begin) * panel);
        pack_b(slab, mine.begin, mine.end, packed);
      }
      tiles(slab, panels_of(mine, packed), 0, m, mine.begin * kernel_.column_tile);
    });
  }

  T* packed = nullptr;
  if (pack) {
    packed = workspace_for_b().template get<T>(panels * panel);
    for_range(threads > 1, panels, ceil_div(32 * 1024, panel),
              [&](int64_t begin, int64_t end) { pack_b(slab, begin, end, packed + begin * panel); });
  }
  const int64_t row_tiles = ceil_div(m, kernel_.row_tile);
  int64_t bands = 1, column_parts = 1;
  if (threads > 1) {
    bands = std::max(ceil_div(m, kernel_.row_block), std::min(m / kLeastBand, kPartsPerThread * threads));
    bands = std::min(round_up(bands, threads), row_tiles);
    if (bands < threads) column_parts = std::min(ceil_div(threads, bands), panels);
  }
  for_range(threads > 1, bands * column_parts, 1, [&](int64_t begin, int64_t end) {
    for (int64_t task = begin; task < end; ++task) {
      const Part band = part_of(row_tiles, bands, task / column_parts);
      const Part mine = part_of(panels, column_parts, task % column_parts);
      const int64_t row = band.begin * kernel_.row_tile;
      tiles(slab, panels_of(mine, packed ? packed + mine.begin * panel : nullptr), row,
            std::min(band.end * kernel_.row_tile, m) - row, mine.begin * kernel_.column_tile);
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

  const int64_t depth = detail::depth_of_block(kernel_, k);
  const int64_t width = std::min(n, kColumnBlock) + (a_.col_stride == 1 ? 0 : m);
  const int64_t slab = depth * std::max<int64_t>(1, kSlab / (width * depth));
  for (int64_t j = 0; j < n; j += kColumnBlock) {
    const int64_t columns = std::min(kColumnBlock, n - j);
    for (int64_t p = 0; p < k; p += slab) {
      const int64_t deep = std::min(slab, k - p);
      const Matrix<T> a{a_.data + p * a_.col_stride, m, deep, a_.row_stride, a_.col_stride};
      const Matrix<T> b{b_.data + p * b_.row_stride + j * b_.col_stride, deep, columns, b_.row_stride,
                        b_.col_stride};
      multiply({a, b, c_ + j, j, depth, p == 0, p + deep == k}, parallel ? num_threads() : 1);
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
