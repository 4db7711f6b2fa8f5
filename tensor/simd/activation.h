#pragma once
// The activation functions of a transformer's MLP with their slopes, over Vec<T>.
//
// Far out, where a factor is exactly 0 or 1, infinity counts as that far too: value and slope are never NaN
// unless x is (GELU(-inf) = -0, where x * Phi(x) alone would give inf * 0).

#include "tensor/simd/math.h"

namespace minigpt::MINIGPT_ISA {

// f(x) and f'(x): most functions have the second nearly for free once they have the first.
template <class T>
struct ValueSlope {
  Vec<T> value, slope;
};

// Beyond +-1000 sigmoid and Phi are exactly 0 or 1 in both formats; x is cut there where it multiplies a 0.
// The order of the arguments keeps NaN.
template <class T>
inline Vec<T> cut_below(Vec<T> x) {
  return max(Vec<T>(-1000), x);
}
template <class T>
inline Vec<T> cut(Vec<T> x) {
  return min(Vec<T>(1000), cut_below(x));
}

// max(x, 0) and its square. NaN stays NaN.
struct Relu {
  template <class T>
  static Vec<T> value(Vec<T> x) {
    return max(Vec<T>(0), x);
  }
  template <class T>
  static ValueSlope<T> both(Vec<T> x) {
    return {value(x), select(x <= T(0), Vec<T>(0), Vec<T>(1))};
  }
};
struct ReluSquared {
  template <class T>
  static Vec<T> value(Vec<T> x) {
    const Vec<T> y = Relu::value(x);
    return y * y;
  }
  template <class T>
  static ValueSlope<T> both(Vec<T> x) {
    const Vec<T> y = Relu::value(x);
    return {y * y, y + y};
  }
};

// x s(x), s = 1 / (1 + e^-x);   d/dx = s + x s (1 - s)
struct Silu {
  template <class T>
  static Vec<T> value(Vec<T> x) {
    return cut_below(x) * sigmoid(x);
  }
  template <class T>
  static ValueSlope<T> both(Vec<T> x) {
    const SigmoidPair<T> s = sigmoid_pair(x);
    return {cut_below(x) * s.value, fma(cut(x) * s.value, s.complement, s.value)};
  }
};

// x Phi(x), Phi(x) = (1 + erf(x / sqrt 2)) / 2;   d/dx = Phi(x) + x phi(x), phi(x) = exp(-x^2 / 2) / sqrt(2 pi)
struct GeluErf {
  static constexpr double kSqrtHalf = 0.70710678118654752440;
  static constexpr double kInvSqrtTwoPi = 0.39894228040143267794;

  template <class T>
  static Vec<T> value(Vec<T> x) {
    return cut_below(x) * fma(erf(x * T(kSqrtHalf)), Vec<T>(0.5), Vec<T>(0.5));
  }
  template <class T>
  static ValueSlope<T> both(Vec<T> x) {
    const ErfParts<T> p = erf_parts(x * T(kSqrtHalf));
    const Vec<T> cdf = fma(p.erf, Vec<T>(0.5), Vec<T>(0.5));
    // From |x| = 12 on, |x| phi(x) < 1e-30 is dropped: infinity times 0 must not appear.
    const Vec<T> c = select(abs(x) < T(12), x, Vec<T>(0));
    return {cut_below(x) * cdf, fma(c * T(kInvSqrtTwoPi), p.gaussian, cdf)};
  }
};

// x s(w), w(x) = 2 sqrt(2 / pi) (x + 0.044715 x^3), as (1 + tanh(u)) / 2 = s(2u), which does not cancel for
// negative u;   d/dx = s + x s (1 - s) w'
struct GeluTanh {
  static constexpr double kTwiceSqrtTwoOverPi = 1.59576912160573071176;
  static constexpr double kCubic = 0.044715;

  template <class T>
  static Vec<T> argument(Vec<T> x) {
    return x * fma(x * x, Vec<T>(T(kTwiceSqrtTwoOverPi * kCubic)), Vec<T>(T(kTwiceSqrtTwoOverPi)));
  }
  template <class T>
  static Vec<T> value(Vec<T> x) {
    return cut_below(x) * sigmoid(argument(x));
  }
  template <class T>
  static ValueSlope<T> both(Vec<T> x) {
    const Vec<T> c = cut(x);
    const SigmoidPair<T> s = sigmoid_pair(argument(c));
    const Vec<T> dw = fma(c * c, Vec<T>(T(3 * kTwiceSqrtTwoOverPi * kCubic)), Vec<T>(T(kTwiceSqrtTwoOverPi)));
    return {cut_below(x) * s.value, fma(c * dw * s.value, s.complement, s.value)};
  }
};

}  // namespace minigpt::MINIGPT_ISA
