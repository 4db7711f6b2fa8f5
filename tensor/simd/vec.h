#pragma once
// Vec<T>: a register of T = float or double, written once per instruction set and used by every kernel.
//
// This header documents the contract; scalar.h (width 1) is its definition in plain C; avx2.h, avx512.h and
// neon.h do the same thing on 8/4, 16/8 and 4/2 lanes. Which one is included is a macro of the build: each
// kernel file is compiled once per set, in the namespace of that set (minigpt::scalar, minigpt::avx2, ...),
// so that no two sets share a symbol. Only C headers, <immintrin.h> and <arm_neon.h> may be included here;
// see kernels/kernel_set.h for the reason.
//
//   Vec<T>::kWidth                    number of lanes W
//   Vec<T>(x), Vec<T>::broadcast(x)   x in every lane; a plain T converts by itself, as a formula expects
//   Vec<T>::load(p)                   W values from p, any alignment
//   Vec<T>::load_n(p, n)              the first n, 0 <= n <= W; other lanes 0, memory beyond n not touched
//   v.store(p), v.store_n(p, n)       the reverse
//   Vec<float>::load_bf16(p)          W bfloat16 values from p, as their bits (uint16_t), any alignment; exact:
//   Vec<float>::load_bf16_n(p, n)     bits << 16 are those of the float. The first n of them, as load_n
//
//   a + b, a - b, a * b, a / b, -a    lane by lane, IEEE; also +=, -=, *=, /=
//   fma(a, b, c)                      a * b + c, rounded once where the hardware can, twice in scalar.h
//   min(a, b), max(a, b)              a < b ? a : b and a > b ? a : b: if either is NaN the answer is b,
//                                     so max(x, 0) drops a NaN in x and max(0, x) keeps it
//   abs(a), sqrt(a), copysign(m, s)   sqrt is correctly rounded; copysign is |m| with the sign bit of s
//   round(a)                          nearest integer, ties to even
//
//   a < b, a <= b, a > b, a >= b      Mask<T>; false where either is NaN
//   a == b, is_nan(a)                 Mask<T>
//   m & n, m | n, !m                  on masks
//   any(m), all(m)                    bool
//   select(m, a, b)                   m ? a : b in each lane; the lane not chosen may hold NaN
//
//   round_to_bf16(v)                  float only: the nearest number with 8 significant bits, ties to even; what
//                                     bfloat16 can hold. NaN stays NaN
//
//   pow2(n)                           2^n for integral n, -126 <= n <= 127 (double: -1022 <= n <= 1023)
//   exponent(x), mantissa(x)          e and m with x = m * 2^e, 1 <= m < 2, for finite normal x > 0
//   scale2(x, n)                      x * 2^n, below; may round to a subnormal or overflow to infinity
//
//   reduce_sum(v), reduce_max(v)      over the lanes, always in this order: the upper half of the lanes is
//                                     folded on the lower half, v[i] op v[i + W/2], until one is left
//   Vec<T>::transpose(r)              r[0..W-1] as a W x W matrix, transposed in place in registers

#include <stdint.h>

#include "tensor/simd/isa.h"
#include "tensor/simd/no_fast_math.h"

#if defined(MINIGPT_ISA_avx512)
#include "tensor/simd/avx512.h"
#elif defined(MINIGPT_ISA_avx2)
#include "tensor/simd/avx2.h"
#elif defined(MINIGPT_ISA_neon)
#include "tensor/simd/neon.h"
#else
#include "tensor/simd/scalar.h"
#endif

namespace minigpt::MINIGPT_ISA {

// Numbers of the two formats.
template <class T>
struct Float;

template <>
struct Float<float> {
  static constexpr float kMaxExponent = 127, kMinNormal = 0x1p-126f;
  static constexpr float kInfinity = __builtin_huge_valf();
  static constexpr float kNaN = __builtin_nanf("");
};

template <>
struct Float<double> {
  static constexpr double kMaxExponent = 1023, kMinNormal = 0x1p-1022;
  static constexpr double kInfinity = __builtin_huge_val();
  static constexpr double kNaN = __builtin_nan("");
};

// x * 2^n for integral n. One factor cannot express the whole range (2^-140 is no normal float), so 2^n is
// applied as two factors of half the exponent. With x near 1 the first product is exact and the result is
// rounded once. |n| beyond 2 * 126 (2 * 1022) is treated as that bound, which has already reached 0 or
// infinity for x near 1.
template <class T>
inline Vec<T> scale2(Vec<T> x, Vec<T> n) {
  const Vec<T> bound = T(2) * (Float<T>::kMaxExponent - T(1));
  n = max(min(n, bound), -bound);
  const Vec<T> half = round(n * T(0.5));
  return x * pow2(half) * pow2(n - half);
}

}  // namespace minigpt::MINIGPT_ISA
