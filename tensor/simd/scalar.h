#pragma once
// Vec<T> of one lane, in plain C: the meaning of every operation listed in vec.h.

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "tensor/simd/isa.h"

namespace minigpt::MINIGPT_ISA {

template <class T>
struct Mask {
  bool m;

  friend Mask operator&(Mask a, Mask b) { return {a.m && b.m}; }
  friend Mask operator|(Mask a, Mask b) { return {a.m || b.m}; }
  friend Mask operator!(Mask a) { return {!a.m}; }
  friend bool any(Mask a) { return a.m; }
  friend bool all(Mask a) { return a.m; }
};

template <class T>
struct Vec {
  static constexpr int kWidth = 1;
  T v;

  Vec() = default;
  Vec(T x) : v(x) {}
  static Vec broadcast(T x) { return x; }
  static Vec load(const T* p) { return *p; }
  static Vec load_n(const T* p, int64_t n) { return n > 0 ? *p : T(0); }
  static Vec load_bf16(const uint16_t* p) { return from_bits(uint32_t(*p) << 16); }
  static Vec load_bf16_n(const uint16_t* p, int64_t n) { return n > 0 ? load_bf16(p) : T(0); }
  void store(T* p) const { *p = v; }
  void store_n(T* p, int64_t n) const {
    if (n > 0) *p = v;
  }

  friend Vec operator+(Vec a, Vec b) { return a.v + b.v; }
  friend Vec operator-(Vec a, Vec b) { return a.v - b.v; }
  friend Vec operator*(Vec a, Vec b) { return a.v * b.v; }
  friend Vec operator/(Vec a, Vec b) { return a.v / b.v; }
  friend Vec operator-(Vec a) { return -a.v; }
  Vec& operator+=(Vec b) { return *this = *this + b; }
  Vec& operator-=(Vec b) { return *this = *this - b; }
  Vec& operator*=(Vec b) { return *this = *this * b; }
  Vec& operator/=(Vec b) { return *this = *this / b; }

  // Not the C library's fma: without the instruction that is a slow function call.
  friend Vec fma(Vec a, Vec b, Vec c) { return a.v * b.v + c.v; }
  friend Vec min(Vec a, Vec b) { return a.v < b.v ? a : b; }
  friend Vec max(Vec a, Vec b) { return a.v > b.v ? a : b; }
  friend Vec abs(Vec a) { return ::fabs(a.v); }
  friend Vec sqrt(Vec a) {
    if constexpr (sizeof(T) == 4)
      return ::sqrtf(a.v);
    else
      return ::sqrt(a.v);
  }
  friend Vec copysign(Vec magnitude, Vec sign) {
    if constexpr (sizeof(T) == 4)
      return ::copysignf(magnitude.v, sign.v);
    else
      return ::copysign(magnitude.v, sign.v);
  }
  friend Vec round(Vec a) {
    if constexpr (sizeof(T) == 4)
      return ::rintf(a.v);
    else
      return ::rint(a.v);
  }

  // Half of the last kept place is added, a little less if the kept part is even; the rest is cut off.
  friend Vec round_to_bf16(Vec a) {
    static_assert(sizeof(T) == 4);
    if (a.v != a.v) return a;
    uint32_t bits;
    memcpy(&bits, &a.v, 4);
    bits = (bits + 0x7fff + ((bits >> 16) & 1)) & 0xffff0000u;
    memcpy(&a.v, &bits, 4);
    return a;
  }

  friend Mask<T> operator<(Vec a, Vec b) { return {a.v < b.v}; }
  friend Mask<T> operator<=(Vec a, Vec b) { return {a.v <= b.v}; }
  friend Mask<T> operator>(Vec a, Vec b) { return {a.v > b.v}; }
  friend Mask<T> operator>=(Vec a, Vec b) { return {a.v >= b.v}; }
  friend Mask<T> operator==(Vec a, Vec b) { return {a.v == b.v}; }
  friend Mask<T> is_nan(Vec a) { return {a.v != a.v}; }
  friend Vec select(Mask<T> m, Vec a, Vec b) { return m.m ? a : b; }

  friend T reduce_sum(Vec a) { return a.v; }
  friend T reduce_max(Vec a) { return a.v; }
  static void transpose(Vec*) {}

  // Adding 1.5 * 2^(mantissa bits) leaves the integer n + bias in the low bits; the shift moves it into the
  // exponent. (A conversion to an integer would be undefined for NaN.)
  friend Vec pow2(Vec n) {
    const T one_and_a_half = T(Bits(3) << (kMantissaBits - 1));
    return from_bits(to_bits(n.v + (one_and_a_half + T(kBias))) << kMantissaBits);
  }
  friend Vec exponent(Vec x) { return T(int64_t(to_bits(x.v) >> kMantissaBits) - kBias); }
  friend Vec mantissa(Vec x) {
    const Bits one = Bits(kBias) << kMantissaBits;
    const Bits fraction = (Bits(1) << kMantissaBits) - 1;
    return from_bits((to_bits(x.v) & fraction) | one);
  }

 private:
  template <class F, bool kSingle = sizeof(F) == 4>
  struct Format {
    using Bits = uint32_t;
    static constexpr int kMantissaBits = 23, kBias = 127;
  };
  template <class F>
  struct Format<F, false> {
    using Bits = uint64_t;
    static constexpr int kMantissaBits = 52, kBias = 1023;
  };
  using Bits = typename Format<T>::Bits;
  static constexpr int kMantissaBits = Format<T>::kMantissaBits, kBias = Format<T>::kBias;

  static Bits to_bits(T x) {
    Bits bits;
    memcpy(&bits, &x, sizeof x);
    return bits;
  }
  static T from_bits(Bits bits) {
    T x;
    memcpy(&x, &bits, sizeof x);
    return x;
  }
};

}  // namespace minigpt::MINIGPT_ISA
