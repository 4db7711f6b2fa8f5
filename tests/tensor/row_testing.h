#pragma once
// What the tests of row-wise kernels share: random tensors, every kernel set, every number of threads.

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "tensor/parallel.h"
#include "tensor/tensor.h"
#include "tests/tensor/scoped_kernel_set.h"

namespace minigpt::testing {

// Normally distributed numbers; the same seed gives the same tensor.
template <class T>
Tensor random_tensor(const Shape& shape, unsigned seed, double scale = 1) {
  std::mt19937_64 rng(seed);
  std::normal_distribution<double> normal(0, scale);
  Tensor t = Tensor::empty(shape, dtype_of<T>);
  T* data = t.mutable_data<T>();
  for (std::int64_t i = 0; i < t.numel(); ++i) data[i] = static_cast<T>(normal(rng));
  return t;
}

inline Tensor random_indices(const Shape& shape, int below, unsigned seed) {
  std::mt19937 rng(seed);
  Tensor t = Tensor::empty(shape, DType::i32);
  auto* data = t.mutable_data<std::int32_t>();
  for (std::int64_t i = 0; i < t.numel(); ++i)
    data[i] = static_cast<std::int32_t>(rng() % static_cast<unsigned>(below));
  return t;
}

inline std::vector<double> values(const Tensor& t) { return t.to(DType::f64).to_vector<double>(); }

// Same shape, type and bits, so that NaN equals NaN and 0 differs from -0.
inline bool bitwise_equal(const Tensor& a, const Tensor& b) {
  if (a.shape() != b.shape() || a.dtype() != b.dtype()) return false;
  const Tensor x = a.contiguous(), y = b.contiguous();
  bool equal = true;
  visit_dtype(a.dtype(), [&](auto zero) {
    using T = decltype(zero);
    equal = std::memcmp(x.data<T>(), y.data<T>(), static_cast<std::size_t>(x.numel()) * sizeof(T)) == 0;
  });
  return equal;
}

// Largest |actual - expected| / (1 + |expected|); infinite if the sizes differ or either is NaN.
inline double worst_error(const std::vector<double>& actual, const std::vector<double>& expected) {
  if (actual.size() != expected.size()) return HUGE_VAL;
  double worst = 0;
  for (std::size_t i = 0; i < actual.size(); ++i) {
    const double error = std::abs(actual[i] - expected[i]) / (1 + std::abs(expected[i]));
    if (!(error <= worst)) worst = error == error ? error : HUGE_VAL;
  }
  return worst;
}

// Calls fn with each kernel set this CPU can run switched on.
template <class Fn>
void for_each_kernel_set(Fn fn) {
  for (const std::string& name : available_kernel_sets()) {
    INFO("kernel set ", name);
    const ScopedKernelSet use(name);
    fn();
  }
}

// Checks that compute() -> std::vector<Tensor> gives the same bits with 1, 2 and 7 threads, even when every
// row may go to another thread.
template <class Fn>
void check_threads_do_not_matter(Fn compute) {
  const ScopedNumThreads one(1);
  const std::vector<Tensor> expected = compute();
  const ScopedForceGrainOne grain;
  for (const int threads : {1, 2, 7}) {
    CAPTURE(threads);
    const ScopedNumThreads scope(threads);
    const std::vector<Tensor> actual = compute();
    REQUIRE(actual.size() == expected.size());
    for (std::size_t i = 0; i < actual.size(); ++i) CHECK(bitwise_equal(actual[i], expected[i]));
  }
}

// Lengths on both sides of every vector width, and some long ones.
inline std::vector<std::int64_t> row_lengths() {
  std::vector<std::int64_t> lengths;
  for (std::int64_t n = 1; n <= 70; ++n) lengths.push_back(n);
  for (const std::int64_t n : {127, 128, 129, 255, 511, 513, 1024, 1100, 65537}) lengths.push_back(n);
  return lengths;
}

}  // namespace minigpt::testing
