#pragma once
// Vec<T> on NEON (AArch64 Advanced SIMD): 4 floats or 2 doubles. vec.h says what each operation means.
//
// Every AArch64 processor has it, with fused multiply-add and all of IEEE including subnormals. There are no
// masked loads and stores: load_n and store_n branch on n. FMIN and FMAX are not used, because a NaN in either
// operand wins there, while vec.h promises b.

#include "tensor/simd/isa.h"

#if defined(MINIGPT_ISA_neon)
#include <arm_neon.h>
#include <stdint.h>

namespace minigpt::MINIGPT_ISA {

template <class T>
struct Mask;  // every lane all ones or all zeros
template <class T>
struct Vec;

// --- float ---------------------------------------------------------------------------------------

template <>
struct Mask<float> {
  uint32x4_t m;

  friend Mask operator&(Mask a, Mask b) { return {vandq_u32(a.m, b.m)}; }
  friend Mask operator|(Mask a, Mask b) { return {vorrq_u32(a.m, b.m)}; }
  friend Mask operator!(Mask a) { return {vmvnq_u32(a.m)}; }
  friend bool any(Mask a) { return vmaxvq_u32(a.m) != 0; }
  friend bool all(Mask a) { return vminvq_u32(a.m) != 0; }
};

template <>
struct Vec<float> {
  static constexpr int kWidth = 4;
  float32x4_t v;

  Vec() = default;
  Vec(float32x4_t x) : v(x) {}
  Vec(float x) : v(vdupq_n_f32(x)) {}
  static Vec broadcast(float x) { return x; }
  static Vec load(const float* p) { return vld1q_f32(p); }
  static Vec load_n(const float* p, int64_t n) {
    if (n == kWidth) return load(p);
    const float32x4_t zero = vdupq_n_f32(0);
    if (n < 2) return n < 1 ? zero : vld1q_lane_f32(p, zero, 0);
    const float32x4_t two = vcombine_f32(vld1_f32(p), vget_low_f32(zero));
    return n < 3 ? two : vld1q_lane_f32(p + 2, two, 2);
  }
  static Vec load_bf16(const uint16_t* p) { return from_bits(vshll_n_u16(vld1_u16(p), 16)); }
  static Vec load_bf16_n(const uint16_t* p, int64_t n) {
    uint16_t first_n[4] = {};
    for (int64_t i = 0; i < n; ++i) first_n[i] = p[i];
    return load_bf16(first_n);
  }
  void store(float* p) const { vst1q_f32(p, v); }
  void store_n(float* p, int64_t n) const {
    if (n == kWidth) return store(p);
    if (n >= 2) vst1_f32(p, vget_low_f32(v));
    if (n == 1) vst1q_lane_f32(p, v, 0);
    if (n == 3) vst1q_lane_f32(p + 2, v, 2);
  }

  friend Vec operator+(Vec a, Vec b) { return vaddq_f32(a.v, b.v); }
  friend Vec operator-(Vec a, Vec b) { return vsubq_f32(a.v, b.v); }
  friend Vec operator*(Vec a, Vec b) { return vmulq_f32(a.v, b.v); }
  friend Vec operator/(Vec a, Vec b) { return vdivq_f32(a.v, b.v); }
  friend Vec operator-(Vec a) { return vnegq_f32(a.v); }
  Vec& operator+=(Vec b) { return *this = *this + b; }
  Vec& operator-=(Vec b) { return *this = *this - b; }
  Vec& operator*=(Vec b) { return *this = *this * b; }
  Vec& operator/=(Vec b) { return *this = *this / b; }

  friend Vec fma(Vec a, Vec b, Vec c) { return vfmaq_f32(c.v, a.v, b.v); }
  friend Vec min(Vec a, Vec b) { return select(a < b, a, b); }
  friend Vec max(Vec a, Vec b) { return select(a > b, a, b); }
  friend Vec abs(Vec a) { return vabsq_f32(a.v); }
  friend Vec sqrt(Vec a) { return vsqrtq_f32(a.v); }
  friend Vec copysign(Vec magnitude, Vec sign) {
    return vbslq_f32(vdupq_n_u32(0x80000000), sign.v, magnitude.v);
  }
  friend Vec round(Vec a) { return vrndnq_f32(a.v); }

  // Half of the last kept place is added, a little less if the kept part is even; the rest is cut off.
  friend Vec round_to_bf16(Vec a) {
    const uint32x4_t odd = vandq_u32(vshrq_n_u32(bits(a), 16), vdupq_n_u32(1));
    const uint32x4_t up = vaddq_u32(bits(a), vaddq_u32(odd, vdupq_n_u32(0x7fff)));
    return select(is_nan(a), a, from_bits(vandq_u32(up, vdupq_n_u32(0xffff0000))));
  }

  friend Mask<float> operator<(Vec a, Vec b) { return {vcltq_f32(a.v, b.v)}; }
  friend Mask<float> operator<=(Vec a, Vec b) { return {vcleq_f32(a.v, b.v)}; }
  friend Mask<float> operator>(Vec a, Vec b) { return b < a; }
  friend Mask<float> operator>=(Vec a, Vec b) { return b <= a; }
  friend Mask<float> operator==(Vec a, Vec b) { return {vceqq_f32(a.v, b.v)}; }
  friend Mask<float> is_nan(Vec a) { return !(a == a); }
  friend Vec select(Mask<float> m, Vec a, Vec b) { return vbslq_f32(m.m, a.v, b.v); }

  friend float reduce_sum(Vec a) { return vaddv_f32(vadd_f32(vget_low_f32(a.v), vget_high_f32(a.v))); }
  friend float reduce_max(Vec a) {
    const float32x2_t low = vget_low_f32(a.v), high = vget_high_f32(a.v);
    const float32x2_t half = vbsl_f32(vcgt_f32(low, high), low, high);
    const float x = vget_lane_f32(half, 0), y = vget_lane_f32(half, 1);
    return x > y ? x : y;
  }
  // The 2 x 2 blocks are transposed on the spot, then the two off the diagonal are exchanged.
  static void transpose(Vec* r) {
    const float64x2_t even01 = vreinterpretq_f64_f32(vtrn1q_f32(r[0].v, r[1].v));
    const float64x2_t odd01 = vreinterpretq_f64_f32(vtrn2q_f32(r[0].v, r[1].v));
    const float64x2_t even23 = vreinterpretq_f64_f32(vtrn1q_f32(r[2].v, r[3].v));
    const float64x2_t odd23 = vreinterpretq_f64_f32(vtrn2q_f32(r[2].v, r[3].v));
    r[0] = vreinterpretq_f32_f64(vtrn1q_f64(even01, even23));
    r[1] = vreinterpretq_f32_f64(vtrn1q_f64(odd01, odd23));
    r[2] = vreinterpretq_f32_f64(vtrn2q_f64(even01, even23));
    r[3] = vreinterpretq_f32_f64(vtrn2q_f64(odd01, odd23));
  }

  // Adding 1.5 * 2^23 leaves the integer n + 127 in the low mantissa bits; the shift moves it into the
  // exponent.
  friend Vec pow2(Vec n) { return from_bits(vshlq_n_u32(bits(n + (0x1.8p23f + 127)), 23)); }
  friend Vec exponent(Vec x) { return vcvtq_f32_u32(vshrq_n_u32(bits(x), 23)) - Vec(127); }
  friend Vec mantissa(Vec x) { return vbslq_f32(vdupq_n_u32(0x007fffff), x.v, vdupq_n_f32(1)); }

 private:
  static uint32x4_t bits(Vec a) { return vreinterpretq_u32_f32(a.v); }
  static Vec from_bits(uint32x4_t a) { return vreinterpretq_f32_u32(a); }
};

// --- double --------------------------------------------------------------------------------------

template <>
struct Mask<double> {
  uint64x2_t m;

  friend Mask operator&(Mask a, Mask b) { return {vandq_u64(a.m, b.m)}; }
  friend Mask operator|(Mask a, Mask b) { return {vorrq_u64(a.m, b.m)}; }
  friend Mask operator!(Mask a) { return {vreinterpretq_u64_u32(vmvnq_u32(halves(a)))}; }
  friend bool any(Mask a) { return vmaxvq_u32(halves(a)) != 0; }
  friend bool all(Mask a) { return vminvq_u32(halves(a)) != 0; }

 private:
  static uint32x4_t halves(Mask a) { return vreinterpretq_u32_u64(a.m); }
};

template <>
struct Vec<double> {
  static constexpr int kWidth = 2;
  float64x2_t v;

  Vec() = default;
  Vec(float64x2_t x) : v(x) {}
  Vec(double x) : v(vdupq_n_f64(x)) {}
  static Vec broadcast(double x) { return x; }
  static Vec load(const double* p) { return vld1q_f64(p); }
  static Vec load_n(const double* p, int64_t n) {
    if (n == kWidth) return load(p);
    const float64x2_t zero = vdupq_n_f64(0);
    return n < 1 ? zero : vld1q_lane_f64(p, zero, 0);
  }
  void store(double* p) const { vst1q_f64(p, v); }
  void store_n(double* p, int64_t n) const {
    if (n == kWidth) return store(p);
    if (n == 1) vst1q_lane_f64(p, v, 0);
  }

  friend Vec operator+(Vec a, Vec b) { return vaddq_f64(a.v, b.v); }
  friend Vec operator-(Vec a, Vec b) { return vsubq_f64(a.v, b.v); }
  friend Vec operator*(Vec a, Vec b) { return vmulq_f64(a.v, b.v); }
  friend Vec operator/(Vec a, Vec b) { return vdivq_f64(a.v, b.v); }
  friend Vec operator-(Vec a) { return vnegq_f64(a.v); }
  Vec& operator+=(Vec b) { return *this = *this + b; }
  Vec& operator-=(Vec b) { return *this = *this - b; }
  Vec& operator*=(Vec b) { return *this = *this * b; }
  Vec& operator/=(Vec b) { return *this = *this / b; }

  friend Vec fma(Vec a, Vec b, Vec c) { return vfmaq_f64(c.v, a.v, b.v); }
  friend Vec min(Vec a, Vec b) { return select(a < b, a, b); }
  friend Vec max(Vec a, Vec b) { return select(a > b, a, b); }
  friend Vec abs(Vec a) { return vabsq_f64(a.v); }
  friend Vec sqrt(Vec a) { return vsqrtq_f64(a.v); }
  friend Vec copysign(Vec magnitude, Vec sign) {
    return vbslq_f64(vdupq_n_u64(0x8000000000000000), sign.v, magnitude.v);
  }
  friend Vec round(Vec a) { return vrndnq_f64(a.v); }

  friend Mask<double> operator<(Vec a, Vec b) { return {vcltq_f64(a.v, b.v)}; }
  friend Mask<double> operator<=(Vec a, Vec b) { return {vcleq_f64(a.v, b.v)}; }
  friend Mask<double> operator>(Vec a, Vec b) { return b < a; }
  friend Mask<double> operator>=(Vec a, Vec b) { return b <= a; }
  friend Mask<double> operator==(Vec a, Vec b) { return {vceqq_f64(a.v, b.v)}; }
  friend Mask<double> is_nan(Vec a) { return !(a == a); }
  friend Vec select(Mask<double> m, Vec a, Vec b) { return vbslq_f64(m.m, a.v, b.v); }

  friend double reduce_sum(Vec a) { return vaddvq_f64(a.v); }
  friend double reduce_max(Vec a) {
    const double x = vgetq_lane_f64(a.v, 0), y = vgetq_lane_f64(a.v, 1);
    return x > y ? x : y;
  }
  static void transpose(Vec* r) {
    const float64x2_t even = vtrn1q_f64(r[0].v, r[1].v);
    r[1] = vtrn2q_f64(r[0].v, r[1].v);
    r[0] = even;
  }

  friend Vec pow2(Vec n) { return from_bits(vshlq_n_u64(bits(n + (0x1.8p52 + 1023)), 52)); }
  friend Vec exponent(Vec x) { return vcvtq_f64_u64(vshrq_n_u64(bits(x), 52)) - Vec(1023); }
  friend Vec mantissa(Vec x) { return vbslq_f64(vdupq_n_u64(0x000fffffffffffff), x.v, vdupq_n_f64(1)); }

 private:
  static uint64x2_t bits(Vec a) { return vreinterpretq_u64_f64(a.v); }
  static Vec from_bits(uint64x2_t a) { return vreinterpretq_f64_u64(a); }
};

}  // namespace minigpt::MINIGPT_ISA
#endif
