// What a product does besides multiplying: a bias, an activation, factors rounded to bf16. On every kernel set, for
// sizes around the tiles, against the product and the functions applied one after the other.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "tensor/dispatch.h"
#include "tensor/error.h"
#include "tensor/gemm.h"
#include "tensor/parallel.h"
#include "tests/tensor/scoped_kernel_set.h"

using namespace minigpt;

namespace {

constexpr Activation kActivations[] = {Activation::none, Activation::relu,     Activation::relu_squared,
                                       Activation::silu, Activation::gelu_erf, Activation::gelu_tanh};

// The formulas, in double.
double activated(Activation f, double z) {
  switch (f) {
    case Activation::none:
      return z;
    case Activation::relu:
      return std::max(z, 0.0);
    case Activation::relu_squared:
      return std::max(z, 0.0) * std::max(z, 0.0);
    case Activation::silu:
      return z / (1 + std::exp(-z));
    case Activation::gelu_erf:
      return 0.5 * z * (1 + std::erf(z / std::sqrt(2.0)));
    case Activation::gelu_tanh:
      return 0.5 * z * (1 + std::tanh(std::sqrt(2 / 3.14159265358979323846) * (z + 0.044715 * z * z * z)));
  }
  return 0;
}

template <class T>
std::vector<T> reals(std::int64_t n, std::mt19937& random) {
  std::normal_distribution<double> normal;
  std::vector<T> x(static_cast<std::size_t>(n));
  for (T& v : x) v = static_cast<T>(normal(random));
  return x;
}

// To the nearest number with 8 significant bits, ties to even: what bfloat16 can hold.
float rounded(float x) {
  int exponent = 0;
  const float m = std::frexp(x, &exponent);  // 0.5 <= |m| < 1
  return std::ldexp(std::nearbyint(std::ldexp(m, 8)), exponent - 8);
}

struct Sizes {
  std::int64_t m, n, k;
};
// One row, around one tile, several blocks of rows and of depth, no depth at all.
constexpr Sizes kSizes[] = {{1, 1, 1},    {1, 40, 7},    {2, 17, 5},   {5, 33, 3},
                            {13, 31, 17}, {7, 16, 0},    {37, 65, 50}, {250, 48, 33},
                            {25, 7, 600}, {64, 96, 520}, {300, 3, 11}};

}  // namespace

TEST_CASE_TEMPLATE("gemm: bias and activation on the way out", T, float, double) {
  const double tolerance = sizeof(T) == 4 ? 2e-5 : 1e-13;
  std::mt19937 random(3);
  for (const std::string& set : available_kernel_sets()) {
    const ScopedKernelSet scope(set);
    CAPTURE(set);
    for (const Sizes s : kSizes) {
      const std::vector<T> a = reals<T>(s.m * s.k, random), b = reals<T>(s.k * s.n, random);
      const std::vector<T> bias = reals<T>(s.n, random);
      const std::int64_t ldc = s.n + 2;
      const std::size_t size = static_cast<std::size_t>(s.m * ldc);
      std::vector<T> product(size, T(7));
      const Matrix<T> x{a.data(), s.m, s.k, s.k, 1}, w{b.data(), s.k, s.n, s.n, 1};
      gemm_naive(x, w, product.data(), ldc);
      for (const Activation f : kActivations) {
        for (const bool with_bias : {false, true}) {
          std::vector<T> c(size, T(7)), kept(size, T(7));
          GemmOptions<T> options;
          options.activation = f;
          options.kept = kept.data();
          if (with_bias) options.bias = bias.data();
          gemm(x, w, c.data(), ldc, options);
          double worst = 0;
          bool gaps_left = true;
          for (std::int64_t i = 0; i < s.m; ++i) {
            for (std::int64_t j = 0; j < ldc; ++j) {
              const std::size_t at = static_cast<std::size_t>(i * ldc + j);
              if (j >= s.n) {
                gaps_left = gaps_left && c[at] == T(7) && kept[at] == T(7);
                continue;
              }
              const double z = static_cast<double>(product[at]) +
                               (with_bias ? static_cast<double>(bias[static_cast<std::size_t>(j)]) : 0.0);
              const double scale = std::sqrt(static_cast<double>(s.k) + 1) * (1 + std::abs(z));
              worst = std::max(worst, std::abs(static_cast<double>(c[at]) - activated(f, z)) / scale);
              if (f != Activation::none)
                worst = std::max(worst, std::abs(static_cast<double>(kept[at]) - z) / scale);
            }
          }
          CHECK(gaps_left);
          CHECK(worst < tolerance);
        }
      }
    }
  }
}

TEST_CASE("gemm: in bf16 the factors have 8 significant bits, and the sum is float's") {
  std::mt19937 random(4);
  for (const std::string& set : available_kernel_sets()) {
    const ScopedKernelSet scope(set);
    CAPTURE(set);
    for (const Sizes s : kSizes) {
      const std::vector<float> a = reals<float>(s.m * s.k, random), b = reals<float>(s.k * s.n, random);
      std::vector<float> a8 = a, b8 = b;
      for (float& v : a8) v = rounded(v);
      for (float& v : b8) v = rounded(v);
      // Every combination of layouts: along the rows, along the columns, and with gaps in both directions.
      for (int layout = 0; layout < 9; ++layout) {
        const auto lay = [&](const std::vector<float>& plain, std::int64_t rows, std::int64_t cols, int how,
                             std::vector<float>& memory) {
          const std::int64_t rs = how == 0 ? cols : how == 1 ? 1 : 2 * cols;
          const std::int64_t cs = how == 0 ? 1 : how == 1 ? rows : 2;
          memory.assign(static_cast<std::size_t>(2 * rows * cols + 1),
                        std::numeric_limits<float>::quiet_NaN());
          for (std::int64_t i = 0; i < rows; ++i)
            for (std::int64_t j = 0; j < cols; ++j)
              memory[static_cast<std::size_t>(i * rs + j * cs)] =
                  plain[static_cast<std::size_t>(i * cols + j)];
          return Matrix<float>{memory.data(), rows, cols, rs, cs};
        };
        std::vector<float> ma, mb;
        const Matrix<float> x = lay(a, s.m, s.k, layout % 3, ma), w = lay(b, s.k, s.n, layout / 3, mb);
        std::vector<float> expected(static_cast<std::size_t>(s.m * s.n)), c = expected, more = expected;
        gemm_naive(Matrix<float>{a8.data(), s.m, s.k, s.k, 1}, Matrix<float>{b8.data(), s.k, s.n, s.n, 1},
                   expected.data(), s.n);
        GemmOptions<float> options;
        options.precision = Precision::bf16;
        gemm(x, w, c.data(), s.n, options);
        options.accumulate = true;
        gemm(x, w, more.data(), s.n, options);
        double worst = 0;
        for (std::size_t i = 0; i < c.size(); ++i)
          worst = std::max({worst, std::abs(static_cast<double>(c[i]) - static_cast<double>(expected[i])),
                            std::abs(static_cast<double>(more[i]) - static_cast<double>(c[i]))});
        CHECK(worst <= 2e-6 * (static_cast<double>(s.k) + 1));
      }
    }
  }
}

TEST_CASE("gemm: double is not rounded to bf16") {
  const double a = 1.0 + 1e-9, b = 1;
  double c = 0;
  GemmOptions<double> options;
  options.precision = Precision::bf16;
  gemm(Matrix<double>{&a, 1, 1, 1, 1}, Matrix<double>{&b, 1, 1, 1, 1}, &c, 1, options);
  CHECK(c == a);
}

TEST_CASE("gemm: options give the same bits for any number of threads") {
  std::mt19937 random(5);
  for (const Precision precision : {Precision::full, Precision::bf16}) {
    for (const Sizes s : {Sizes{500, 400, 300}, Sizes{64, 2100, 64}, Sizes{2, 5000, 300}}) {
      const std::vector<float> a = reals<float>(s.m * s.k, random), b = reals<float>(s.k * s.n, random);
      const std::vector<float> bias = reals<float>(s.n, random);
      std::vector<std::vector<float>> results;
      for (int threads : {1, 2, 7}) {
        const ScopedNumThreads scope(threads);
        const std::size_t size = static_cast<std::size_t>(s.m * s.n);
        std::vector<float> c(size), kept(size);
        GemmOptions<float> options;
        options.bias = bias.data();
        options.activation = Activation::gelu_erf;
        options.kept = kept.data();
        options.precision = precision;
        // W^T as linear() sees it.
        gemm(Matrix<float>{a.data(), s.m, s.k, s.k, 1}, Matrix<float>{b.data(), s.k, s.n, 1, s.k}, c.data(),
             s.n, options);
        c.insert(c.end(), kept.begin(), kept.end());
        results.push_back(c);
      }
      CHECK(std::memcmp(results[0].data(), results[1].data(), results[0].size() * 4) == 0);
      CHECK(std::memcmp(results[0].data(), results[2].data(), results[0].size() * 4) == 0);
    }
  }
}

TEST_CASE("gemm: a bias or an activation makes no sense on top of C") {
  const float one = 1;
  float c = 0;
  GemmOptions<float> options;
  options.accumulate = true;
  options.bias = &one;
  const Matrix<float> x{&one, 1, 1, 1, 1};
  CHECK_THROWS_WITH_AS(gemm(x, x, &c, 1, options),
                       "[gemm] accumulate goes with neither a bias nor an activation", Error);
}
