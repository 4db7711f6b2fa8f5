// Every layout, every size around the tiles, every kernel set: against the triple loop.
#include "tensor/gemm.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "tensor/dispatch.h"
#include "tensor/error.h"
#include "tensor/parallel.h"
#include "tests/tensor/scoped_kernel_set.h"

using namespace minigpt;

namespace {

enum class Layout { kPlain, kTransposed, kStrided };
constexpr Layout kLayouts[] = {Layout::kPlain, Layout::kTransposed, Layout::kStrided};

// A matrix and the memory it lies in, exactly as much as needed, so that the address sanitizer sees any
// excess.
template <class T>
struct Operand {
  std::vector<T> memory;
  std::int64_t rows, cols, row_stride, col_stride;

  Operand(std::int64_t rows_, std::int64_t cols_, Layout layout) : rows(rows_), cols(cols_) {
    if (layout == Layout::kPlain)
      row_stride = cols, col_stride = 1;
    else if (layout == Layout::kTransposed)
      row_stride = 1, col_stride = rows;
    else
      row_stride = 3 * cols + 1, col_stride = 3;
    memory.resize(static_cast<std::size_t>((rows - 1) * row_stride + (cols - 1) * col_stride + 1));
  }
  Matrix<T> view() const { return {memory.data(), rows, cols, row_stride, col_stride}; }
};

// Small integers: every sum is exact, whatever its order, so results must be equal and not merely close.
template <class T>
void fill_integers(std::vector<T>& x, std::mt19937& random) {
  for (T& v : x) v = static_cast<T>(static_cast<int>(random() % 7) - 3);
}
template <class T>
void fill_reals(std::vector<T>& x, std::mt19937& random) {
  std::normal_distribution<double> normal;
  for (T& v : x) v = static_cast<T>(normal(random));
}

// True if gemm equals the triple loop on integers, and leaves the gap between the rows of C alone.
template <class T>
bool exact(std::int64_t m, std::int64_t n, std::int64_t k, Layout la, Layout lb, bool accumulate,
           std::mt19937& random) {
  Operand<T> a(m, k, la), b(k, n, lb);
  fill_integers(a.memory, random);
  fill_integers(b.memory, random);
  const std::int64_t ldc = n + (m > 1 ? static_cast<std::int64_t>(random() % 3) : 0);
  std::vector<T> c(static_cast<std::size_t>((m - 1) * ldc + n));
  fill_integers(c, random);
  std::vector<T> expected = c, alone = c;
  gemm_naive(a.view(), b.view(), expected.data(), ldc, accumulate);
  gemm(a.view(), b.view(), c.data(), ldc, accumulate);
  gemm_serial(a.view(), b.view(), alone.data(), ldc, accumulate);
  return c == expected && alone == expected;
}

}  // namespace

TEST_CASE_TEMPLATE("gemm equals the triple loop for all small shapes and layouts (O-01)", T, float, double) {
  for (const std::string& set : available_kernel_sets()) {
    CAPTURE(set);
    const ScopedKernelSet use(set);
    std::mt19937 random(1);
    int failures = 0;
    for (std::int64_t m = 1; m <= 9; ++m)
      for (std::int64_t n = 1; n <= 9; ++n)
        for (std::int64_t k = 1; k <= 9; ++k)
          for (const Layout la : kLayouts)
            for (const Layout lb : kLayouts)
              failures += !exact<T>(m, n, k, la, lb, random() % 2 == 0, random);
    CHECK(failures == 0);
  }
}

TEST_CASE_TEMPLATE("gemm equals the triple loop around the tile sizes", T, float, double) {
  for (const std::string& set : available_kernel_sets()) {
    const ScopedKernelSet use(set);
    const GemmKernels<T>& kernel = kernels<T>().gemm;
    std::mt19937 random(2);
    // One less and one more than a tile, than several tiles, and than a cache block.
    std::vector<std::int64_t> ms, ns, ks;
    for (const int d : {-1, 0, 1}) {
      for (const std::int64_t tiles : {1, 2, 5}) ms.push_back(tiles * kernel.row_tile + d);
      for (const std::int64_t tiles : {1, 3, 5}) ns.push_back(tiles * kernel.column_tile + d);
      for (const std::int64_t depth : {16, 64}) ks.push_back(depth + d);
    }
    for (const std::int64_t m : ms)
      for (const std::int64_t n : ns) {
        const std::int64_t k = ks[random() % ks.size()];
        const Layout la = kLayouts[random() % 3], lb = kLayouts[random() % 3];
        if (m < 1) continue;
        CAPTURE(set);
        CAPTURE(m);
        CAPTURE(n);
        CAPTURE(k);
        CHECK(exact<T>(m, n, k, la, lb, random() % 2 == 0, random));
      }
    for (const Layout la : kLayouts)
      for (const Layout lb : kLayouts) {
        CHECK(exact<T>(kernel.row_block + 1, kernel.column_tile + 3, kernel.depth_block + 1, la, lb, false,
                       random));
        CHECK(exact<T>(9, kernel.column_tile * 40 + 5, 20, la, lb, true, random));
        CHECK(exact<T>(1, 300, 2 * kernel.depth_block + 3, la, lb, false, random));
      }
    CHECK(exact<T>(70, 2051, 9, Layout::kPlain, Layout::kTransposed, false, random));
    // Rows 4096 bytes apart, which share their cache lines, are packed.
    CHECK(exact<T>(25, 70, 4096 / sizeof(T), Layout::kPlain, Layout::kPlain, false, random));
  }
}

TEST_CASE_TEMPLATE("gemm is as precise as sums of k rounded products", T, float, double) {
  std::mt19937 random(3);
  const std::int64_t m = 37, n = 41, k = 530;
  Operand<T> a(m, k, Layout::kPlain), b(k, n, Layout::kTransposed);
  fill_reals(a.memory, random);
  fill_reals(b.memory, random);
  for (const std::string& set : available_kernel_sets()) {
    const ScopedKernelSet use(set);
    std::vector<T> c(m * n);
    gemm(a.view(), b.view(), c.data(), n);
    double worst = 0;  // |error| / (eps * sum |a b|), at most k by the standard bound
    for (std::int64_t i = 0; i < m; ++i)
      for (std::int64_t j = 0; j < n; ++j) {
        long double sum = 0, size = 0;
        for (std::int64_t p = 0; p < k; ++p) {
          const long double product = static_cast<long double>(a.memory[i * k + p]) * b.memory[j * k + p];
          sum += product;
          size += std::abs(product);
        }
        const long double error = std::abs(sum - c[i * n + j]) / (size * std::numeric_limits<T>::epsilon());
        worst = std::max(worst, static_cast<double>(error));
      }
    CAPTURE(set);
    CHECK(worst < 8);
    CHECK(worst > 0);  // reals do round: the comparison is alive
  }
}

TEST_CASE_TEMPLATE("the number of threads does not change a bit (P-04)", T, float, double) {
  std::mt19937 random(4);
  struct Shape {
    std::int64_t m, n, k;
  };
  for (const std::string& set : available_kernel_sets()) {
    const ScopedKernelSet use(set);
    for (const Shape s :
         {Shape{200, 150, 300}, {5, 1200, 100}, {1, 5000, 130}, {700, 20, 64}, {64, 64, 32}}) {
      for (const Layout lb : kLayouts) {
        Operand<T> a(s.m, s.k, Layout::kPlain), b(s.k, s.n, lb);
        fill_reals(a.memory, random);
        fill_reals(b.memory, random);
        std::vector<T> serial(static_cast<std::size_t>(s.m * s.n));
        gemm_serial(a.view(), b.view(), serial.data(), s.n);
        for (const int threads : {1, 2, 7}) {
          CAPTURE(threads);
          const ScopedNumThreads use_threads(threads);
          std::vector<T> c(serial.size());
          gemm(a.view(), b.view(), c.data(), s.n);
          CHECK(c == serial);
          const ScopedForceGrainOne force;
          std::fill(c.begin(), c.end(), T(0));
          gemm(a.view(), b.view(), c.data(), s.n);
          CHECK(c == serial);
        }
      }
    }
  }
}

TEST_CASE("gemm inside a parallel region runs on the thread that calls it") {
  std::mt19937 random(5);
  const std::int64_t heads = 12, m = 64, n = 64, k = 32;
  Operand<float> a(heads * m, k, Layout::kPlain), b(heads * n, k, Layout::kPlain);
  fill_integers(a.memory, random);
  fill_integers(b.memory, random);
  std::vector<float> c(heads * m * n), expected(c.size());
  const auto head = [&](std::int64_t h, std::vector<float>& out, auto multiply) {
    const Matrix<float> q{a.memory.data() + h * m * k, m, k, k, 1};
    const Matrix<float> key{b.memory.data() + h * n * k, n, k, k, 1};
    multiply(q, key.transposed(), out.data() + h * m * n);
  };
  for (std::int64_t h = 0; h < heads; ++h)
    head(h, expected, [&](auto& x, const auto& y, float* z) { gemm_naive(x, y, z, n); });
  const ScopedNumThreads threads(4);
  parallel_for(heads, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t h = begin; h < end; ++h)
      head(h, c, [&](auto& x, const auto& y, float* z) { gemm(x, y, z, n); });
  });
  CHECK(c == expected);
}

TEST_CASE("gemm of empty matrices") {
  std::vector<float> c = {1, 2, 3, 4, 5, 6};
  const Matrix<float> a{nullptr, 2, 0, 0, 1}, b{nullptr, 0, 2, 2, 1};
  gemm(a, b, c.data(), 3, true);
  CHECK(c == std::vector<float>{1, 2, 3, 4, 5, 6});
  gemm(a, b, c.data(), 3);  // the third column is a gap
  CHECK(c == std::vector<float>{0, 0, 3, 0, 0, 6});
  gemm(Matrix<float>{nullptr, 0, 4, 4, 1}, Matrix<float>{nullptr, 4, 3, 3, 1}, c.data(), 3);
  gemm(Matrix<float>{nullptr, 2, 4, 4, 1}, Matrix<float>{nullptr, 4, 0, 0, 1}, c.data(), 3);
  CHECK(c == std::vector<float>{0, 0, 3, 0, 0, 6});
}

TEST_CASE("gemm keeps non-finite values: 0 * inf is NaN") {
  const float inf = std::numeric_limits<float>::infinity();
  for (const std::string& set : available_kernel_sets()) {
    const ScopedKernelSet use(set);
    const std::vector<float> a = {0, 1}, b = {inf, 2};
    float c = 0;
    gemm<float>({a.data(), 1, 2, 2, 1}, {b.data(), 2, 1, 1, 1}, &c, 1);
    CHECK(std::isnan(c));
    gemm<float>({a.data() + 1, 1, 1, 1, 1}, {b.data(), 1, 1, 1, 1}, &c, 1);
    CHECK(c == inf);
  }
}

TEST_CASE("gemm names both shapes when the inner dimensions differ") {
  float x[20] = {};
  CHECK_THROWS_WITH_AS(gemm<float>({x, 2, 3, 3, 1}, {x, 4, 5, 5, 1}, x, 5),
                       "[gemm] inner dimensions differ: (2, 3) x (4, 5): 3 != 4", Error);
}
