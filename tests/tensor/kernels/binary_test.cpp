#include "tensor/kernels/binary.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "tests/tensor/row_testing.h"

using namespace minigpt;
using namespace minigpt::testing;

namespace {

// Counts from 0 to beyond two of the widest vectors, at every misalignment, with every pair of steps. Around
// the result lie guards that must not change.
constexpr std::int64_t kMaxCount = 37;
constexpr std::int64_t kGuard = 4;

template <class T>
struct Operands {
  std::vector<T> a = data(1), b = data(2);

  static std::vector<T> data(unsigned seed) {
    std::vector<T> v = random_tensor<T>({kMaxCount + kGuard}, seed).template to_vector<T>();
    v[5] = v[20] = std::numeric_limits<T>::quiet_NaN();
    v[6] = v[31] = std::numeric_limits<T>::infinity();
    v[7] = T(0);
    return v;
  }
};

template <class T>
bool same(T a, T b) {
  return a == b || (a != a && b != b);
}

// Calls run(a, a_step, b, b_step, out, n) and compares out[i] with formula(a[i], b[i]).
template <class T, class Out, class Run, class Formula>
int wrong_results(Run run, Formula formula) {
  const Operands<T> operands;
  int wrong = 0;
  for (std::int64_t n = 0; n <= kMaxCount; ++n)
    for (std::int64_t shift = 0; shift < kGuard; ++shift)
      for (const std::int64_t a_step : {0, 1})
        for (const std::int64_t b_step : {0, 1}) {
          const T* a = operands.a.data() + shift;
          const T* b = operands.b.data() + (kGuard - 1 - shift);
          Tensor result = full({n + 2 * kGuard}, 1, dtype_of<Out>);
          Out* out = result.template mutable_data<Out>() + shift;
          run(a, a_step, b, b_step, out, n);
          for (std::int64_t i = -shift; i < n + 2 * kGuard - shift; ++i) {
            const bool inside = i >= 0 && i < n;
            const Out expected = inside ? formula(a[i * a_step * inside], b[i * b_step * inside]) : Out(1);
            wrong += !same(out[i], expected);
          }
        }
  return wrong;
}

template <class T>
T plain_maximum(T a, T b) {
  return std::isnan(a) || std::isnan(b) ? std::numeric_limits<T>::quiet_NaN() : std::max(a, b);
}
template <class T>
T plain_minimum(T a, T b) {
  return std::isnan(a) || std::isnan(b) ? std::numeric_limits<T>::quiet_NaN() : std::min(a, b);
}

template <class T>
void check_all() {
  const BinaryKernels<T>& k = kernels<T>().binary;
  CHECK(wrong_results<T, T>(k.add, [](T a, T b) { return a + b; }) == 0);
  CHECK(wrong_results<T, T>(k.sub, [](T a, T b) { return a - b; }) == 0);
  CHECK(wrong_results<T, T>(k.mul, [](T a, T b) { return a * b; }) == 0);
  CHECK(wrong_results<T, T>(k.div, [](T a, T b) { return a / b; }) == 0);
  CHECK(wrong_results<T, T>(k.maximum, plain_maximum<T>) == 0);
  CHECK(wrong_results<T, T>(k.minimum, plain_minimum<T>) == 0);
  CHECK(wrong_results<T, bool>(k.less, [](T a, T b) { return a < b; }) == 0);
  CHECK(wrong_results<T, bool>(k.less_equal, [](T a, T b) { return a <= b; }) == 0);
  CHECK(wrong_results<T, bool>(k.equal, [](T a, T b) { return a == b; }) == 0);
  CHECK(wrong_results<T, bool>(k.not_equal, [](T a, T b) { return a != b; }) == 0);
  CHECK(wrong_results<T, bool>(k.greater, [](T a, T b) { return a > b; }) == 0);
  CHECK(wrong_results<T, bool>(k.greater_equal, [](T a, T b) { return a >= b; }) == 0);
  // add_scaled starts from ones; alpha = -2 makes the product exact, fused or not.
  const auto scaled = [&](const T* x, std::int64_t step, const T*, std::int64_t, T* y, std::int64_t n) {
    if (step == 1)
      k.add_scaled(y, x, T(-2), n);
    else
      for (std::int64_t i = 0; i < n; ++i) y[i] = T(1) - T(2) * *x;
  };
  CHECK(wrong_results<T, T>(scaled, [](T x, T) { return T(1) - T(2) * x; }) == 0);
  const auto clamped = [&](const T* x, std::int64_t step, const T*, std::int64_t, T* y, std::int64_t n) {
    for (std::int64_t i = 0; step == 0 && i < n; ++i) k.clamp(x, T(-0.5), T(1), y + i, 1);
    if (step == 1) k.clamp(x, T(-0.5), T(1), y, n);
  };
  CHECK(wrong_results<T, T>(clamped,
                            [](T x, T) { return std::isnan(x) ? x : std::clamp(x, T(-0.5), T(1)); }) == 0);
  // Every third element, all alike, none.
  bool third[kMaxCount];
  for (std::int64_t i = 0; i < kMaxCount; ++i) third[i] = i % 3 == 0;
  for (const std::int64_t c_step : {0, 1})
    for (const bool* c : {third, third + 1}) {
      // The formula does not know the index, so a right choice is turned into 0 here.
      const auto choose = [&](const T* a, std::int64_t a_step, const T* b, std::int64_t b_step, T* y,
                              std::int64_t n) {
        const std::int64_t count = std::min(n, kMaxCount - 1);
        k.where(c, c_step, a, a_step, b, b_step, y, count);
        for (std::int64_t i = 0; i < count; ++i)
          y[i] = same(y[i], c[i * c_step] ? a[i * a_step] : b[i * b_step]) ? T(0) : T(7);
        for (std::int64_t i = count; i < n; ++i) y[i] = T(0);
      };
      CHECK(wrong_results<T, T>(choose, [](T, T) { return T(0); }) == 0);
    }
}

}  // namespace

TEST_CASE("two-operand kernels: all counts, misaligned, all steps, nothing written beyond the end") {
  for_each_kernel_set([] {
    check_all<float>();
    check_all<double>();
  });
}

TEST_CASE("an element does not depend on its place in the row") {
  for_each_kernel_set([] {
    const Tensor x = random_tensor<float>({kMaxCount}, 3), y = random_tensor<float>({kMaxCount}, 4);
    const float* a = x.data<float>();
    const float* b = y.data<float>();
    const BinaryKernels<float>& k = kernels<float>().binary;
    std::vector<float> whole(b, b + kMaxCount), cut = whole;
    k.add_scaled(whole.data(), a, 0.3f, kMaxCount);
    for (std::int64_t i = 0; i < kMaxCount; ++i) k.add_scaled(cut.data() + i, a + i, 0.3f, 1);
    CHECK(whole == cut);
    k.div(a, 1, b, 1, whole.data(), kMaxCount);
    for (std::int64_t i = 0; i < kMaxCount; ++i) k.div(a + i, 0, b + i, 0, cut.data() + i, 1);
    CHECK(whole == cut);
  });
}
