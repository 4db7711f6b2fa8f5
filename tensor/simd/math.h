#pragma once
// exp, log, tanh, erf and sigmoid, written once over Vec<T> for every instruction set, in float and double.
//
// All of them follow the classical plan: reduce the argument to a small interval, evaluate a polynomial
// there, and undo the reduction exactly. The polynomials are minimax fits (Remez exchange in 50-digit
// arithmetic, weighted by the error of the final result); each comment names the function that was fitted and
// the error of the fit, which is far below the rounding of T.
//
// Worst errors against the exact values, in units in the last place (ulp), in float and in double:
//   exp 1.1    log 0.9    tanh 1.4    erf 1.4    sigmoid 1.6
// NaN gives NaN, and infinities and signed zeros give what the C library gives.
//
// Sources: W. J. Cody and W. Waite, Software Manual for the Elementary Functions (1980): the two-part ln 2 of
// exp. K. C. Ng, fdlibm e_log.c: log through s = f / (2 + f). E. Remez (1934). For erf: erfc(a) = exp(-a^2) *
// R(a), where R varies slowly, in the variable 1 / (a + 2).

#include "tensor/simd/vec.h"

namespace minigpt::MINIGPT_ISA {

// c0 + x * (c1 + x * (c2 + ...)), Horner's rule.
template <class T>
inline Vec<T> polynomial(Vec<T>, T c) {
  return c;
}
template <class T, class... Rest>
inline Vec<T> polynomial(Vec<T> x, T c, Rest... rest) {
  return fma(x, polynomial(x, rest...), Vec<T>(c));
}

template <class T>
inline constexpr bool kIsFloat = sizeof(T) == 4;

// ln 2 as a sum. The high part has so few bits that n * kLn2High is exact for every exponent n.
template <class T>
inline constexpr T kLn2High = kIsFloat<T> ? T(0x1.62e4p-1) : T(0x1.62e42feep-1);
template <class T>
inline constexpr T kLn2Low = kIsFloat<T> ? T(1.42860682030941723e-6) : T(1.9082149292705877e-10);

// x = n * ln 2 + r with integral n and |r| <= ln 2 / 2, and expm1_r = e^r - 1. Needs |x| < 2^20 or so.
template <class T>
struct ExpParts {
  Vec<T> n, expm1_r;
};

template <class T>
inline ExpParts<T> exp_parts(Vec<T> x) {
  const Vec<T> n = round(x * T(1.4426950408889634));
  const Vec<T> r = fma(n, Vec<T>(-kLn2Low<T>), fma(n, Vec<T>(-kLn2High<T>), x));
  // Fitted: (e^r - 1 - r) / r^2 on |r| <= 0.35; error of e^r 3e-9 (float), 4e-18 (double).
  Vec<T> q;
  if constexpr (kIsFloat<T>)
    q = polynomial(r, 0.49999994f, 0.166665152f, 0.041668456f, 0.00836941879f, 0.00138131413f);
  else
    q = polynomial(r, 0.50000000000000122, 0.16666666666666385, 0.04166666666651915, 0.0083333333335076486,
                   0.0013888888946919969, 0.00019841269486183894, 2.4801489352245393e-05,
                   2.7557597168917287e-06, 2.7631687356123859e-07, 2.4998997751652614e-08);
  return {n, fma(r * r, q, r)};
}

// e^x for x that is neither so large nor so small that the result leaves the normal numbers.
template <class T>
inline Vec<T> exp_normal(Vec<T> x) {
  const ExpParts<T> p = exp_parts(x);
  return (p.expm1_r + T(1)) * pow2(p.n);
}

// e^x. Overflows to infinity, and underflows through the subnormals to 0, where the exact value does.
template <class T>
inline Vec<T> exp(Vec<T> x) {
  // Beyond these bounds the answer is 0 or infinity already; in this order of arguments NaN survives.
  const Vec<T> low = kIsFloat<T> ? T(-104) : T(-746), high = kIsFloat<T> ? T(89) : T(710);
  const ExpParts<T> p = exp_parts(min(high, max(low, x)));
  return scale2(p.expm1_r + T(1), p.n);
}

// Natural logarithm: log(0) = -infinity, log(x < 0) = NaN.
template <class T>
inline Vec<T> log(Vec<T> x) {
  // Subnormals are first scaled up. Then x = m * 2^e with m in [sqrt(1/2), sqrt(2)), so that log m cannot
  // cancel e.
  const Mask<T> tiny = x < Float<T>::kMinNormal;
  const Vec<T> scaled = select(tiny, x * T(0x1p54), x);
  Vec<T> e = exponent(scaled) - select(tiny, Vec<T>(54), Vec<T>(0));
  Vec<T> m = mantissa(scaled);
  const Mask<T> upper = m > T(1.4142135623730951);
  m = select(upper, m * T(0.5), m);
  e = select(upper, e + T(1), e);

  // With f = m - 1 and s = f / (2 + f): log m = 2 atanh(s) = f - f^2/2 + s * (f^2/2 + R(s^2)).
  const Vec<T> f = m - T(1);
  const Vec<T> s = f / (f + T(2)), z = s * s;
  // Fitted: R(z) / z = 2/3 + 2/5 z + ... on z <= 0.0295; error of log m 1e-11 (float), 3e-18 (double).
  Vec<T> r;
  if constexpr (kIsFloat<T>)
    r = polynomial(z, 0.666666627f, 0.400003374f, 0.285371691f, 0.235849828f);
  else
    r = polynomial(z, 0.66666666666667351, 0.39999999999407482, 0.28571428744142952, 0.22222198378332106,
                   0.18183575172398453, 0.15313755595844039, 0.14799067641005623);
  const Vec<T> half_square = f * f * T(0.5);
  const Vec<T> low = fma(e, Vec<T>(kLn2Low<T>), s * fma(z, r, half_square));
  const Vec<T> y = fma(e, Vec<T>(kLn2High<T>), f - (half_square - low));

  const Vec<T> not_positive = select(x == T(0), Vec<T>(-Float<T>::kInfinity), Vec<T>(Float<T>::kNaN));
  return select(x > T(0), select(x == Float<T>::kInfinity, x, y), not_positive);
}

// tanh(x) = 1 - 2 / (e^2x + 1), computed for |x|; that cancels near 0, where a polynomial takes over.
template <class T>
inline Vec<T> tanh(Vec<T> x) {
  const Vec<T> a = abs(x), z = a * a;
  // |x| < 0.55. Fitted: (tanh(a) / a - 1) / a^2 in a^2; error of tanh 2e-9 (float), 1e-18 (double).
  Vec<T> p;
  if constexpr (kIsFloat<T>)
    p = polynomial(z, -0.333333105f, 0.13332364f, -0.0538278557f, 0.0209675152f, -0.00612307107f);
  else
    p = polynomial(z, -0.33333333333333259, 0.13333333333320288, -0.053968253960120449, 0.021869488282717078,
                   -0.0088632309289718905, 0.0035920753146903516, -0.0014554363751562321,
                   0.00058801128860868441, -0.00023229186779525756, 8.1772790778454128e-05,
                   -1.8553096996159809e-05);
  const Vec<T> near_zero = fma(a * z, p, a);

  const Vec<T> one_from_here = kIsFloat<T> ? T(9.1) : T(19.1);
  const Vec<T> c = min(one_from_here, a);
  const ExpParts<T> e = exp_parts(c + c);
  const Vec<T> power = pow2(e.n);
  const Vec<T> far = T(1) - T(2) / (fma(power, e.expm1_r, power + T(1)));
  return copysign(select(a < T(0.55), near_zero, far), x);
}

// The logistic function 1 / (1 + e^-x), and its complement 1 - sigmoid(x) = sigmoid(-x).
template <class T>
struct SigmoidPair {
  Vec<T> value, complement;
};

// With e^-x = 2^n (1 + p): for n >= 0 the sum is 2^n (2^-n + 1 + p), whose factor 2^n is divided out at the
// end, down to subnormals; for n < 0 it is 1 + 2^n + 2^n p. Either way one rounding forms the denominator.
template <class T>
inline SigmoidPair<T> sigmoid_pair(Vec<T> x) {
  const Vec<T> bound = kIsFloat<T> ? T(104) : T(746);
  const ExpParts<T> e = exp_parts(min(bound, max(-bound, -x)));
  const Vec<T> power = pow2(max(-abs(e.n), Vec<T>(T(1) - Float<T>::kMaxExponent)));  // 2^-|n|
  const Mask<T> shrinking = e.n < T(0);
  const Vec<T> tail = select(shrinking, e.expm1_r * power, e.expm1_r);
  const Vec<T> sum = power + T(1), lost = power - (sum - T(1));  // lost: what that sum rounded away
  const Vec<T> inverse = T(1) / (sum + (tail + lost));
  return {scale2(inverse, -max(e.n, Vec<T>(0))), (select(shrinking, power, Vec<T>(1)) + tail) * inverse};
}

template <class T>
inline Vec<T> sigmoid(Vec<T> x) {
  return sigmoid_pair(x).value;
}

// erf(x) = 2 / sqrt(pi) * integral of exp(-t^2) from 0 to x; `gaussian` = exp(-min(|x|, 9)^2) comes with it.
template <class T>
struct ErfParts {
  Vec<T> erf, gaussian;
};

template <class T>
inline ErfParts<T> erf_parts(Vec<T> x) {
  const Vec<T> a = abs(x), square = a * a;
  // |x| < 1. Fitted: erf(a) / a - 1 in a^2; error of erf 1e-9 (float), 7e-18 (double).
  Vec<T> p;
  if constexpr (kIsFloat<T>)
    p = polynomial(square, 0.128379166f, -0.37612626f, 0.112835854f, -0.0268538147f, 0.00518833054f,
                   -0.000801020244f, 7.85384982e-05f);
  else
    p = polynomial(square, 0.12837916709551256, -0.37612638903183521, 0.112837916709442,
                   -0.026866170643113415, 0.005223977606130842, -0.00085483259297662443,
                   0.0001205529358693695, -1.4924712439534814e-05, 1.6447132699786621e-06,
                   -1.6206318752969208e-07, 1.3710988704190523e-08, -7.7794629717615971e-10);
  const Vec<T> near_zero = fma(a, p, a);

  // |x| >= 1. Fitted: exp(a^2) erfc(a) in t = 1 / (a + 2), on [1, 4] (float) and [1, 6] (double); error of
  // erf 4e-11 and 5e-19.
  const Vec<T> c = min(Vec<T>(9), a);
  const Vec<T> t = T(1) / (c + T(2));
  Vec<T> r;
  if constexpr (kIsFloat<T>)
    r = polynomial(t, 0.00182254764f, 0.51940012f, 1.58721554f, -0.515708685f, 10.1869192f, -7.38567877f);
  else
    r = polynomial(t, -3.1301651094110791e-06, 0.56437739249853003, 1.1232656148813107, 2.0584897364125907,
                   1.897519454996428, 9.8875922770407367, -41.116550477461345, 161.22170165846731,
                   -510.81397134009075, 994.77141340283822, -1153.0103202555138, 748.00257267811014,
                   -212.12890810038033);
  const Vec<T> gaussian = exp_normal(-(c * c));
  return {copysign(select(a < T(1), near_zero, T(1) - gaussian * r), x), gaussian};
}

template <class T>
inline Vec<T> erf(Vec<T> x) {
  return erf_parts(x).erf;
}

}  // namespace minigpt::MINIGPT_ISA
