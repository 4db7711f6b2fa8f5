// Compiled once per instruction set; see unary.h.
#include "tensor/kernels/unary.h"

#include "tensor/simd/map.h"
#include "tensor/simd/math.h"

namespace minigpt::MINIGPT_ISA {

namespace {

// Beyond +-1000 sigmoid and Phi are exactly 0 or 1 in both formats; x is cut there where it multiplies a 0.
// The order of the arguments keeps NaN.
template <class T>
Vec<T> cut_below(Vec<T> x) {
  return max(Vec<T>(-1000), x);
}
template <class T>
Vec<T> cut(Vec<T> x) {
  return min(Vec<T>(1000), cut_below(x));
}

template <class T>
Vec<T> silu(Vec<T> x) {
  return cut_below(x) * sigmoid(x);
}

// d/dx x s(x) = s + x s (1 - s)
template <class T>
Vec<T> silu_slope(Vec<T> x) {
  const SigmoidPair<T> s = sigmoid_pair(x);
  return fma(cut(x) * s.value, s.complement, s.value);
}

constexpr double kSqrtHalf = 0.70710678118654752440;
constexpr double kInvSqrtTwoPi = 0.39894228040143267794;

template <class T>
Vec<T> gelu_erf(Vec<T> x) {
  return cut_below(x) * fma(erf(x * T(kSqrtHalf)), Vec<T>(0.5), Vec<T>(0.5));
}

// d/dx x Phi(x) = Phi(x) + x phi(x), phi(x) = exp(-x^2 / 2) / sqrt(2 pi)
template <class T>
Vec<T> gelu_erf_slope(Vec<T> x) {
  const ErfParts<T> p = erf_parts(x * T(kSqrtHalf));
  const Vec<T> cdf = fma(p.erf, Vec<T>(0.5), Vec<T>(0.5));
  // From |x| = 12 on, |x| phi(x) < 1e-30 is dropped: infinity times 0 must not appear.
  const Vec<T> c = select(abs(x) < T(12), x, Vec<T>(0));
  return fma(c * T(kInvSqrtTwoPi), p.gaussian, cdf);
}

// (1 + tanh(u)) / 2 = sigmoid(2u), which does not cancel for negative u. w(x) = 2u.
constexpr double kTwiceSqrtTwoOverPi = 1.59576912160573071176;
constexpr double kCubic = 0.044715;

template <class T>
Vec<T> gelu_tanh_argument(Vec<T> x) {
  return x * fma(x * x, Vec<T>(T(kTwiceSqrtTwoOverPi * kCubic)), Vec<T>(T(kTwiceSqrtTwoOverPi)));
}

template <class T>
Vec<T> gelu_tanh(Vec<T> x) {
  return cut_below(x) * sigmoid(gelu_tanh_argument(x));
}

// d/dx x s(w(x)) = s + x s (1 - s) w'(x)
template <class T>
Vec<T> gelu_tanh_slope(Vec<T> x) {
  const Vec<T> c = cut(x);
  const SigmoidPair<T> s = sigmoid_pair(gelu_tanh_argument(c));
  const Vec<T> dw = fma(c * c, Vec<T>(T(3 * kTwiceSqrtTwoOverPi * kCubic)), Vec<T>(T(kTwiceSqrtTwoOverPi)));
  return fma(c * dw * s.value, s.complement, s.value);
}

template <class T>
void bind_unary(UnaryKernels<T>& k) {
  using V = Vec<T>;
  k.exp = [](const T* x, T* y, int64_t n) { map(n, x, y, [](V v) { return exp(v); }); };
  k.log = [](const T* x, T* y, int64_t n) { map(n, x, y, [](V v) { return log(v); }); };
  k.tanh = [](const T* x, T* y, int64_t n) { map(n, x, y, [](V v) { return tanh(v); }); };
  k.erf = [](const T* x, T* y, int64_t n) { map(n, x, y, [](V v) { return erf(v); }); };
  k.sigmoid = [](const T* x, T* y, int64_t n) { map(n, x, y, [](V v) { return sigmoid(v); }); };
  k.sqrt = [](const T* x, T* y, int64_t n) { map(n, x, y, [](V v) { return sqrt(v); }); };
  k.reciprocal = [](const T* x, T* y, int64_t n) { map(n, x, y, [](V v) { return T(1) / v; }); };
  k.neg = [](const T* x, T* y, int64_t n) { map(n, x, y, [](V v) { return -v; }); };
  k.abs = [](const T* x, T* y, int64_t n) { map(n, x, y, [](V v) { return abs(v); }); };
  k.square = [](const T* x, T* y, int64_t n) { map(n, x, y, [](V v) { return v * v; }); };
  k.relu = [](const T* x, T* y, int64_t n) { map(n, x, y, [](V v) { return max(V(0), v); }); };
  k.silu = [](const T* x, T* y, int64_t n) { map(n, x, y, [](V v) { return silu(v); }); };
  k.gelu_erf = [](const T* x, T* y, int64_t n) { map(n, x, y, [](V v) { return gelu_erf(v); }); };
  k.gelu_tanh = [](const T* x, T* y, int64_t n) { map(n, x, y, [](V v) { return gelu_tanh(v); }); };

  k.relu_backward = [](const T* x, const T* dy, T* dx, int64_t n) {
    map(n, x, dy, dx, [](V v, V d) { return select(v <= T(0), V(0), d); });
  };
  k.silu_backward = [](const T* x, const T* dy, T* dx, int64_t n) {
    map(n, x, dy, dx, [](V v, V d) { return d * silu_slope(v); });
  };
  k.gelu_erf_backward = [](const T* x, const T* dy, T* dx, int64_t n) {
    map(n, x, dy, dx, [](V v, V d) { return d * gelu_erf_slope(v); });
  };
  k.gelu_tanh_backward = [](const T* x, const T* dy, T* dx, int64_t n) {
    map(n, x, dy, dx, [](V v, V d) { return d * gelu_tanh_slope(v); });
  };
}

}  // namespace

void bind(UnaryKernels<float>& k) { bind_unary(k); }
void bind(UnaryKernels<double>& k) { bind_unary(k); }

}  // namespace minigpt::MINIGPT_ISA
