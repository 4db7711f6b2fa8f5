// A packed factor multiplies as gemm does: the same bits, for every kernel set, layout and precision.
#include "tensor/gemm_packed.h"

#include <doctest/doctest.h>

#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "tensor/dispatch.h"
#include "tensor/error.h"
#include "tests/tensor/scoped_kernel_set.h"

using namespace minigpt;

namespace {

template <class T>
std::vector<T> reals(std::int64_t n, std::mt19937& random) {
  std::normal_distribution<double> normal;
  std::vector<T> x(static_cast<std::size_t>(n));
  for (T& v : x) v = static_cast<T>(normal(random));
  return x;
}

}  // namespace

TEST_CASE_TEMPLATE("PackedFactor: the bits of gemm, with bias, activation and accumulation", T, float,
                   double) {
  std::mt19937 random(1);
  for (const std::string& set : available_kernel_sets()) {
    const ScopedKernelSet scope(set);
    for (const Precision precision : {Precision::full, Precision::bf16}) {
      for (const bool transposed : {false, true}) {
        for (const std::int64_t m : {4, 48, 49}) {
          for (const std::int64_t n : {1, 17, 100}) {
            for (const std::int64_t k : {1, 7, 384, 401, 1000}) {
              CAPTURE(set);
              CAPTURE(m);
              CAPTURE(n);
              CAPTURE(k);
              const std::vector<T> a = reals<T>(m * k, random), b = reals<T>(k * n, random),
                                   bias = reals<T>(n, random);
              const Matrix<T> left{a.data(), m, k, k, 1};
              const Matrix<T> right =
                  transposed ? Matrix<T>{b.data(), k, n, 1, k} : Matrix<T>{b.data(), k, n, n, 1};
              // A single column takes another way through gemm.
              if (n == 1 && precision == Precision::full) continue;
              const PackedFactor<T> packed(right, precision);
              GemmOptions<T> options;
              options.precision = precision;
              for (const bool accumulate : {false, true}) {
                std::vector<T> expected = reals<T>(m * n, random), c = expected, kept(c.size()),
                               kept_here(c.size());
                options.accumulate = accumulate;
                options.bias = accumulate ? nullptr : bias.data();
                options.activation = accumulate ? Activation::none : Activation::gelu_erf;
                options.kept = accumulate ? nullptr : kept.data();
                gemm<T>(left, right, expected.data(), n, options);
                if (!accumulate) options.kept = kept_here.data();
                packed.multiply(left, c.data(), n, options);
                CHECK(std::memcmp(c.data(), expected.data(), c.size() * sizeof(T)) == 0);
                CHECK(std::memcmp(kept.data(), kept_here.data(), kept.size() * sizeof(T)) == 0);
              }
            }
          }
        }
      }
    }
  }
}

TEST_CASE("PackedFactor: nothing times nothing is 0, and extents must fit") {
  const std::vector<float> a(6, 1.0f), b(6, 2.0f);
  std::vector<float> c(4, 9.0f);
  const PackedFactor<float> empty({b.data(), 0, 2, 2, 1}, Precision::full);
  empty.multiply({a.data(), 2, 0, 0, 1}, c.data(), 2, {});
  CHECK(c == std::vector<float>(4, 0.0f));
  const PackedFactor<float> packed({b.data(), 3, 2, 2, 1}, Precision::full);
  packed.multiply({a.data(), 0, 3, 3, 1}, nullptr, 2, {});
  CHECK_THROWS_WITH_AS(packed.multiply({a.data(), 3, 2, 2, 1}, c.data(), 2, {}),
                       "[gemm] inner dimensions differ: (3, 2) x (3, 2): 2 != 3", Error);
}
