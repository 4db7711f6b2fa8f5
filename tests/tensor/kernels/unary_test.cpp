// exp, log, tanh, erf and their kin against the C library, on every kernel set.
#include "tensor/kernels/unary.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "tensor/dispatch.h"
#include "tests/tensor/scoped_kernel_set.h"

using namespace minigpt;

namespace {

constexpr long double kSqrt2 = 1.41421356237309504880L, kPi = 3.14159265358979323846L;

long double sigmoid(long double x) { return 1 / (1 + std::exp(-x)); }
long double cdf(long double x) { return std::erfc(-x / kSqrt2) / 2; }
long double density(long double x) { return std::exp(-x * x / 2) / std::sqrt(2 * kPi); }
long double tanh_argument(long double x) { return std::sqrt(2 / kPi) * (x + 0.044715L * x * x * x); }

template <class T>
const UnaryKernels<T>& unary() {
  return kernels<T>().unary;
}

template <class T>
T call(typename UnaryKernels<T>::Forward f, T x) {
  T y;
  f(&x, &y, 1);
  return y;
}
template <class T>
T call(typename UnaryKernels<T>::Backward f, T x, T dy = 1) {
  T dx;
  f(&x, &dy, &dx, 1);
  return dx;
}

// The distance from the exact value in units of the last place of T (of the smallest normal number, below
// it).
template <class T>
double error_in_ulp(T got, long double exact) {
  const T rounded = static_cast<T>(exact);
  if (std::isnan(rounded) || std::isnan(got)) return std::isnan(rounded) && std::isnan(got) ? 0 : 1e9;
  if (got == rounded) return std::signbit(got) == std::signbit(rounded) ? 0 : 1e9;
  if (std::isinf(rounded) || std::isinf(got)) {
    // Overflow one rounding too early or too late is one ulp.
    const T largest = std::numeric_limits<T>::max();
    return std::abs(got) >= largest && std::abs(rounded) >= largest ? 1 : 1e9;
  }
  const int exponent = std::max(std::ilogb(rounded), std::numeric_limits<T>::min_exponent - 1);
  const long double ulp = std::ldexp(1.0L, exponent - (std::numeric_limits<T>::digits - 1));
  return static_cast<double>(std::abs(static_cast<long double>(got) - exact) / ulp);
}

// Numbers of every magnitude and sign: evenly spaced bit patterns, and evenly spaced values where the
// functions bend.
template <class T>
std::vector<T> sample() {
  std::vector<T> x;
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  constexpr int kPatterns = 40000;
  const Bits step = std::numeric_limits<Bits>::max() / kPatterns;
  for (Bits i = 0; i < kPatterns; ++i) {
    const Bits bits = i * step + i;
    T v;
    std::memcpy(&v, &bits, sizeof v);
    x.push_back(v);
  }
  for (const double reach : {0.7, 2.0, 12.0, 110.0, 760.0})
    for (int i = -10000; i <= 10000; ++i) x.push_back(static_cast<T>(reach * i / 10000.1));
  for (int i = -5000; i <= 5000; ++i) x.push_back(static_cast<T>(1 + i * 1e-7));
  using L = std::numeric_limits<T>;
  for (const T v : {T(0), L::min(), L::denorm_min(), L::max(), L::infinity(), L::quiet_NaN(), T(1), T(0.5)}) {
    x.push_back(v);
    x.push_back(-v);
  }
  return x;
}

template <class T, class Exact>
double worst_ulp(typename UnaryKernels<T>::Forward f, Exact exact) {
  static const std::vector<T> x = sample<T>();
  std::vector<T> y(x.size());
  f(x.data(), y.data(), static_cast<std::int64_t>(x.size()));
  double worst = 0;
  for (std::size_t i = 0; i < x.size(); ++i)
    worst = std::max(worst, error_in_ulp(y[i], exact(static_cast<long double>(x[i]))));
  return worst;
}

}  // namespace

TEST_CASE_TEMPLATE("transcendental functions are within 2 ulp of the exact value", T, float, double) {
  using X = long double;
  for (const std::string& set : available_kernel_sets()) {
    CAPTURE(set);
    const ScopedKernelSet use(set);
    CHECK(worst_ulp<T>(unary<T>().exp, [](X x) { return std::exp(x); }) < 1.1);
    CHECK(worst_ulp<T>(unary<T>().log, [](X x) { return std::log(x); }) < 0.9);
    CHECK(worst_ulp<T>(unary<T>().tanh, [](X x) { return std::tanh(x); }) < 1.4);
    CHECK(worst_ulp<T>(unary<T>().erf, [](X x) { return std::erf(x); }) < 1.4);
    CHECK(worst_ulp<T>(unary<T>().sigmoid, [](X x) { return sigmoid(x); }) < 1.6);
    // These are exact up to one rounding.
    CHECK(worst_ulp<T>(unary<T>().sqrt, [](X x) { return std::sqrt(x); }) <= 0.5);
    CHECK(worst_ulp<T>(unary<T>().reciprocal, [](X x) { return 1 / x; }) <= 0.5);
    CHECK(worst_ulp<T>(unary<T>().square, [](X x) { return x * x; }) <= 0.5);
    CHECK(worst_ulp<T>(unary<T>().neg, [](X x) { return -x; }) == 0);
    CHECK(worst_ulp<T>(unary<T>().abs, [](X x) { return std::abs(x); }) == 0);
  }
}

TEST_CASE_TEMPLATE("activations and their slopes follow their formulas", T, float, double) {
  struct Row {
    const char* name;
    typename UnaryKernels<T>::Forward forward;
    typename UnaryKernels<T>::Backward backward;
    long double (*value)(long double);
    long double (*slope)(long double);
  };
  for (const std::string& set : available_kernel_sets()) {
    CAPTURE(set);
    const ScopedKernelSet use(set);
    const UnaryKernels<T>& k = unary<T>();
    const Row rows[] = {
        {"relu", k.relu, k.relu_backward, [](long double x) { return x > 0 ? x : 0; },
         [](long double x) { return x > 0 ? 1.0L : 0.0L; }},
        {"silu", k.silu, k.silu_backward, [](long double x) { return x * sigmoid(x); },
         [](long double x) { return sigmoid(x) + x * sigmoid(x) * sigmoid(-x); }},
        {"gelu_erf", k.gelu_erf, k.gelu_erf_backward, [](long double x) { return x * cdf(x); },
         [](long double x) { return cdf(x) + x * density(x); }},
        {"gelu_tanh", k.gelu_tanh, k.gelu_tanh_backward,
         [](long double x) { return x * (1 + std::tanh(tanh_argument(x))) / 2; },
         [](long double x) {
           const long double s = sigmoid(2 * tanh_argument(x)), complement = sigmoid(-2 * tanh_argument(x));
           return s + x * s * complement * 2 * std::sqrt(2 / kPi) * (1 + 3 * 0.044715L * x * x);
         }},
    };
    for (const Row& row : rows) {
      CAPTURE(row.name);
      double worst_value = 0, worst_slope = 0;  // in units of eps * max(1, |x|)
      for (int i = -6000; i <= 6000; ++i) {
        const T x = static_cast<T>(i * 0.005);
        const double unit = std::numeric_limits<T>::epsilon() * std::max(1.0, std::abs(double(x)));
        const long double value = call<T>(row.forward, x) - row.value(x);
        const long double slope = call<T>(row.backward, x, T(2)) / 2 - row.slope(x);
        worst_value = std::max(worst_value, static_cast<double>(std::abs(value)) / unit);
        worst_slope = std::max(worst_slope, static_cast<double>(std::abs(slope)) / unit);
      }
      CHECK(worst_value < 1.5);
      CHECK(worst_slope < 3);
    }
  }
}

TEST_CASE_TEMPLATE("far out, activations are x or 0 with slope 1 or 0, and NaN stays NaN (N-02)", T, float,
                   double) {
  const T inf = std::numeric_limits<T>::infinity(), nan = std::numeric_limits<T>::quiet_NaN();
  for (const std::string& set : available_kernel_sets()) {
    CAPTURE(set);
    const ScopedKernelSet use(set);
    const UnaryKernels<T>& k = unary<T>();
    for (const auto f : {k.relu, k.silu, k.gelu_erf, k.gelu_tanh}) {
      for (const T x : {T(1e3), T(1e20), T(1e30), inf}) {
        CHECK(call<T>(f, x) == x);
        CHECK(call<T>(f, -x) == T(0));
      }
      CHECK(std::isnan(call<T>(f, nan)));
      CHECK(call<T>(f, T(0)) == T(0));
    }
    for (const auto f : {k.relu_backward, k.silu_backward, k.gelu_erf_backward, k.gelu_tanh_backward}) {
      for (const T x : {T(1e3), T(1e20), T(1e30), inf}) {
        CHECK(call<T>(f, x) == T(1));
        CHECK(call<T>(f, -x) == T(0));
      }
      CHECK(std::isnan(call<T>(f, T(1), nan)));
    }
    for (const auto f : {k.silu_backward, k.gelu_erf_backward, k.gelu_tanh_backward}) {
      CHECK(std::isnan(call<T>(f, nan)));
      CHECK(call<T>(f, T(0)) == T(0.5));
    }
    CHECK(call<T>(k.relu_backward, T(0)) == T(0));
  }
}

TEST_CASE_TEMPLATE("a result depends neither on the length of the array nor on the position", T, float,
                   double) {
  std::mt19937 random(1);
  std::uniform_real_distribution<double> uniform(0.1, 5);
  for (const std::string& set : available_kernel_sets()) {
    CAPTURE(set);
    const ScopedKernelSet use(set);
    const UnaryKernels<T>& k = unary<T>();
    for (std::int64_t n = 0; n <= 2 * 16 + 1; ++n) {
      for (const std::int64_t offset : {0, 1, 3}) {  // misaligned by 1 and 3 elements
        // The inputs end where their memory ends, so that the address sanitizer sees a read beyond them.
        std::vector<T> x(static_cast<std::size_t>(offset + n)), dy(x);
        for (T& v : x) v = static_cast<T>(uniform(random));
        for (T& v : dy) v = static_cast<T>(uniform(random));
        const T guard = 77;
        bool same = true, untouched = true;
        const auto expect = [&](const std::vector<T>& y, auto one) {
          for (std::int64_t i = 0; i < n; ++i) same = same && y[offset + i] == one(offset + i);
          for (std::int64_t i = 0; i < 4; ++i) untouched = untouched && y[offset + n + i] == guard;
        };
        for (const auto f : {k.exp, k.log, k.tanh, k.erf, k.sigmoid, k.sqrt, k.reciprocal, k.gelu_erf}) {
          std::vector<T> y(static_cast<std::size_t>(offset + n + 4), guard);
          f(x.data() + offset, y.data() + offset, n);
          expect(y, [&](std::int64_t i) { return call<T>(f, x[i]); });
        }
        for (const auto f : {k.relu_backward, k.silu_backward, k.gelu_erf_backward, k.gelu_tanh_backward}) {
          std::vector<T> dx(static_cast<std::size_t>(offset + n + 4), guard);
          f(x.data() + offset, dy.data() + offset, dx.data() + offset, n);
          expect(dx, [&](std::int64_t i) { return call<T>(f, x[i], dy[i]); });
        }
        std::vector<T> in_place = x;
        k.exp(in_place.data() + offset, in_place.data() + offset, n);
        for (std::int64_t i = 0; i < n; ++i)
          same = same && in_place[offset + i] == call<T>(k.exp, x[offset + i]);
        CAPTURE(n);
        CAPTURE(offset);
        CHECK(same);
        CHECK(untouched);
      }
    }
  }
}
