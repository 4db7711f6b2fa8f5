#pragma once
// Vec<T> on AVX-512F: 16 floats or 8 doubles. vec.h says what each operation means.
//
// Only the foundation subset (F) is used: bitwise operations on floats came with DQ, so they go through
// integers here.

#include "tensor/simd/isa.h"

#if defined(MINIGPT_ISA_avx512)
// GCC 12's own header makes its "undefined" registers with `__m512 y = y;` and then warns about them (GCC bug
// 105593).
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <immintrin.h>
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif
#include <stdint.h>
#include <string.h>

namespace minigpt::MINIGPT_ISA {

template <class T>
struct Mask;  // one bit per lane
template <class T>
struct Vec;

// --- float ---------------------------------------------------------------------------------------

template <>
struct Mask<float> {
  __mmask16 m;

  friend Mask operator&(Mask a, Mask b) { return {__mmask16(a.m & b.m)}; }
  friend Mask operator|(Mask a, Mask b) { return {__mmask16(a.m | b.m)}; }
  friend Mask operator!(Mask a) { return {__mmask16(~a.m)}; }
  friend bool any(Mask a) { return a.m != 0; }
  friend bool all(Mask a) { return a.m == 0xffff; }
};

template <>
struct Vec<float> {
  static constexpr int kWidth = 16;
  __m512 v;

  Vec() = default;
  Vec(__m512 x) : v(x) {}
  Vec(float x) : v(_mm512_set1_ps(x)) {}
  static Vec broadcast(float x) { return x; }
  static Vec load(const float* p) { return _mm512_loadu_ps(p); }
  static Vec load_n(const float* p, int64_t n) { return _mm512_maskz_loadu_ps(first(n), p); }
  static Vec load_bf16(const uint16_t* p) {
    const __m512i bits_16 = _mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
    return from_bits(_mm512_slli_epi32(bits_16, 16));
  }
  static Vec load_bf16_n(const uint16_t* p, int64_t n) {
    uint16_t first_n[kWidth] = {};
    memcpy(first_n, p, size_t(n) * sizeof *p);
    return load_bf16(first_n);
  }
  void store(float* p) const { _mm512_storeu_ps(p, v); }
  void store_n(float* p, int64_t n) const { _mm512_mask_storeu_ps(p, first(n), v); }

  friend Vec operator+(Vec a, Vec b) { return _mm512_add_ps(a.v, b.v); }
  friend Vec operator-(Vec a, Vec b) { return _mm512_sub_ps(a.v, b.v); }
  friend Vec operator*(Vec a, Vec b) { return _mm512_mul_ps(a.v, b.v); }
  friend Vec operator/(Vec a, Vec b) { return _mm512_div_ps(a.v, b.v); }
  friend Vec operator-(Vec a) { return from_bits(_mm512_xor_si512(bits(a), sign_bit())); }
  Vec& operator+=(Vec b) { return *this = *this + b; }
  Vec& operator-=(Vec b) { return *this = *this - b; }
  Vec& operator*=(Vec b) { return *this = *this * b; }
  Vec& operator/=(Vec b) { return *this = *this / b; }

  friend Vec fma(Vec a, Vec b, Vec c) { return _mm512_fmadd_ps(a.v, b.v, c.v); }
  friend Vec min(Vec a, Vec b) { return _mm512_min_ps(a.v, b.v); }
  friend Vec max(Vec a, Vec b) { return _mm512_max_ps(a.v, b.v); }
  friend Vec abs(Vec a) { return from_bits(_mm512_andnot_si512(sign_bit(), bits(a))); }
  friend Vec sqrt(Vec a) { return _mm512_sqrt_ps(a.v); }
  friend Vec copysign(Vec magnitude, Vec sign) {
    return from_bits(_mm512_or_si512(_mm512_andnot_si512(sign_bit(), bits(magnitude)),
                                     _mm512_and_si512(sign_bit(), bits(sign))));
  }
  friend Vec round(Vec a) { return _mm512_roundscale_ps(a.v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }

  // Half of the last kept place is added, a little less if the kept part is even; the rest is cut off.
  friend Vec round_to_bf16(Vec a) {
    const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits(a), 16), _mm512_set1_epi32(1));
    const __m512i up = _mm512_add_epi32(bits(a), _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff)));
    return select(is_nan(a), a, from_bits(_mm512_and_si512(up, _mm512_set1_epi32(INT32_C(-0x10000)))));
  }

  friend Mask<float> operator<(Vec a, Vec b) { return {_mm512_cmp_ps_mask(a.v, b.v, _CMP_LT_OQ)}; }
  friend Mask<float> operator<=(Vec a, Vec b) { return {_mm512_cmp_ps_mask(a.v, b.v, _CMP_LE_OQ)}; }
  friend Mask<float> operator>(Vec a, Vec b) { return b < a; }
  friend Mask<float> operator>=(Vec a, Vec b) { return b <= a; }
  friend Mask<float> operator==(Vec a, Vec b) { return {_mm512_cmp_ps_mask(a.v, b.v, _CMP_EQ_OQ)}; }
  friend Mask<float> is_nan(Vec a) { return {_mm512_cmp_ps_mask(a.v, a.v, _CMP_UNORD_Q)}; }
  friend Vec select(Mask<float> m, Vec a, Vec b) { return _mm512_mask_blend_ps(m.m, b.v, a.v); }

  friend float reduce_sum(Vec a) {
    const __m256 h = _mm256_add_ps(lower(a), upper(a));
    __m128 s = _mm_add_ps(_mm256_castps256_ps128(h), _mm256_extractf128_ps(h, 1));
    s = _mm_add_ps(s, _mm_movehl_ps(s, s));
    return _mm_cvtss_f32(_mm_add_ss(s, _mm_movehdup_ps(s)));
  }
  friend float reduce_max(Vec a) {
    const __m256 h = _mm256_max_ps(lower(a), upper(a));
    __m128 s = _mm_max_ps(_mm256_castps256_ps128(h), _mm256_extractf128_ps(h, 1));
    s = _mm_max_ps(s, _mm_movehl_ps(s, s));
    return _mm_cvtss_f32(_mm_max_ss(s, _mm_movehdup_ps(s)));
  }
  // Rows are interleaved in fours within each 128-bit quarter; then the quarters of rows i, i+4, i+8, i+12
  // are transposed as a 4 x 4 matrix.
  static void transpose(Vec* r) {
    __m512d q[16];
    for (int i = 0; i < 16; i += 4) {
      const __m512d low01 = _mm512_castps_pd(_mm512_unpacklo_ps(r[i].v, r[i + 1].v));
      const __m512d high01 = _mm512_castps_pd(_mm512_unpackhi_ps(r[i].v, r[i + 1].v));
      const __m512d low23 = _mm512_castps_pd(_mm512_unpacklo_ps(r[i + 2].v, r[i + 3].v));
      const __m512d high23 = _mm512_castps_pd(_mm512_unpackhi_ps(r[i + 2].v, r[i + 3].v));
      q[i] = _mm512_unpacklo_pd(low01, low23);
      q[i + 1] = _mm512_unpackhi_pd(low01, low23);
      q[i + 2] = _mm512_unpacklo_pd(high01, high23);
      q[i + 3] = _mm512_unpackhi_pd(high01, high23);
    }
    for (int i = 0; i < 4; ++i) {
      const __m512d even0 = _mm512_shuffle_f64x2(q[i], q[i + 4], 0x88);  // quarters 0 and 2 of both
      const __m512d odd0 = _mm512_shuffle_f64x2(q[i], q[i + 4], 0xdd);   // quarters 1 and 3
      const __m512d even1 = _mm512_shuffle_f64x2(q[i + 8], q[i + 12], 0x88);
      const __m512d odd1 = _mm512_shuffle_f64x2(q[i + 8], q[i + 12], 0xdd);
      r[i] = _mm512_castpd_ps(_mm512_shuffle_f64x2(even0, even1, 0x88));
      r[i + 4] = _mm512_castpd_ps(_mm512_shuffle_f64x2(odd0, odd1, 0x88));
      r[i + 8] = _mm512_castpd_ps(_mm512_shuffle_f64x2(even0, even1, 0xdd));
      r[i + 12] = _mm512_castpd_ps(_mm512_shuffle_f64x2(odd0, odd1, 0xdd));
    }
  }

  // Adding 1.5 * 2^23 leaves the integer n + 127 in the low mantissa bits; the shift moves it into the
  // exponent.
  friend Vec pow2(Vec n) {
    const Vec shifted = n + (0x1.8p23f + 127);
    return from_bits(_mm512_slli_epi32(bits(shifted), 23));
  }
  friend Vec exponent(Vec x) {
    const __m512i biased = _mm512_srli_epi32(bits(x), 23);
    return _mm512_cvtepi32_ps(_mm512_sub_epi32(biased, _mm512_set1_epi32(127)));
  }
  friend Vec mantissa(Vec x) {
    const __m512i fraction = _mm512_and_si512(bits(x), _mm512_set1_epi32(0x007fffff));
    return from_bits(_mm512_or_si512(fraction, bits(1)));
  }

 private:
  static __m512i bits(Vec a) { return _mm512_castps_si512(a.v); }
  static Vec from_bits(__m512i a) { return _mm512_castsi512_ps(a); }
  static __m512i sign_bit() { return _mm512_set1_epi32(INT32_MIN); }
  static __mmask16 first(int64_t n) { return __mmask16((1u << n) - 1); }
  static __m256 lower(Vec a) { return _mm512_castps512_ps256(a.v); }
  static __m256 upper(Vec a) { return _mm256_castpd_ps(_mm512_extractf64x4_pd(_mm512_castps_pd(a.v), 1)); }
};

// --- double --------------------------------------------------------------------------------------

template <>
struct Mask<double> {
  __mmask8 m;

  friend Mask operator&(Mask a, Mask b) { return {__mmask8(a.m & b.m)}; }
  friend Mask operator|(Mask a, Mask b) { return {__mmask8(a.m | b.m)}; }
  friend Mask operator!(Mask a) { return {__mmask8(~a.m)}; }
  friend bool any(Mask a) { return a.m != 0; }
  friend bool all(Mask a) { return a.m == 0xff; }
};

template <>
struct Vec<double> {
  static constexpr int kWidth = 8;
  __m512d v;

  Vec() = default;
  Vec(__m512d x) : v(x) {}
  Vec(double x) : v(_mm512_set1_pd(x)) {}
  static Vec broadcast(double x) { return x; }
  static Vec load(const double* p) { return _mm512_loadu_pd(p); }
  static Vec load_n(const double* p, int64_t n) { return _mm512_maskz_loadu_pd(first(n), p); }
  void store(double* p) const { _mm512_storeu_pd(p, v); }
  void store_n(double* p, int64_t n) const { _mm512_mask_storeu_pd(p, first(n), v); }

  friend Vec operator+(Vec a, Vec b) { return _mm512_add_pd(a.v, b.v); }
  friend Vec operator-(Vec a, Vec b) { return _mm512_sub_pd(a.v, b.v); }
  friend Vec operator*(Vec a, Vec b) { return _mm512_mul_pd(a.v, b.v); }
  friend Vec operator/(Vec a, Vec b) { return _mm512_div_pd(a.v, b.v); }
  friend Vec operator-(Vec a) { return from_bits(_mm512_xor_si512(bits(a), sign_bit())); }
  Vec& operator+=(Vec b) { return *this = *this + b; }
  Vec& operator-=(Vec b) { return *this = *this - b; }
  Vec& operator*=(Vec b) { return *this = *this * b; }
  Vec& operator/=(Vec b) { return *this = *this / b; }

  friend Vec fma(Vec a, Vec b, Vec c) { return _mm512_fmadd_pd(a.v, b.v, c.v); }
  friend Vec min(Vec a, Vec b) { return _mm512_min_pd(a.v, b.v); }
  friend Vec max(Vec a, Vec b) { return _mm512_max_pd(a.v, b.v); }
  friend Vec abs(Vec a) { return from_bits(_mm512_andnot_si512(sign_bit(), bits(a))); }
  friend Vec sqrt(Vec a) { return _mm512_sqrt_pd(a.v); }
  friend Vec copysign(Vec magnitude, Vec sign) {
    return from_bits(_mm512_or_si512(_mm512_andnot_si512(sign_bit(), bits(magnitude)),
                                     _mm512_and_si512(sign_bit(), bits(sign))));
  }
  friend Vec round(Vec a) { return _mm512_roundscale_pd(a.v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }

  friend Mask<double> operator<(Vec a, Vec b) { return {_mm512_cmp_pd_mask(a.v, b.v, _CMP_LT_OQ)}; }
  friend Mask<double> operator<=(Vec a, Vec b) { return {_mm512_cmp_pd_mask(a.v, b.v, _CMP_LE_OQ)}; }
  friend Mask<double> operator>(Vec a, Vec b) { return b < a; }
  friend Mask<double> operator>=(Vec a, Vec b) { return b <= a; }
  friend Mask<double> operator==(Vec a, Vec b) { return {_mm512_cmp_pd_mask(a.v, b.v, _CMP_EQ_OQ)}; }
  friend Mask<double> is_nan(Vec a) { return {_mm512_cmp_pd_mask(a.v, a.v, _CMP_UNORD_Q)}; }
  friend Vec select(Mask<double> m, Vec a, Vec b) { return _mm512_mask_blend_pd(m.m, b.v, a.v); }

  friend double reduce_sum(Vec a) {
    const __m256d h = _mm256_add_pd(lower(a), upper(a));
    const __m128d s = _mm_add_pd(_mm256_castpd256_pd128(h), _mm256_extractf128_pd(h, 1));
    return _mm_cvtsd_f64(_mm_add_sd(s, _mm_unpackhi_pd(s, s)));
  }
  friend double reduce_max(Vec a) {
    const __m256d h = _mm256_max_pd(lower(a), upper(a));
    const __m128d s = _mm_max_pd(_mm256_castpd256_pd128(h), _mm256_extractf128_pd(h, 1));
    return _mm_cvtsd_f64(_mm_max_sd(s, _mm_unpackhi_pd(s, s)));
  }
  static void transpose(Vec* r) {
    __m512d q[8];
    for (int i = 0; i < 8; i += 2) {
      q[i] = _mm512_unpacklo_pd(r[i].v, r[i + 1].v);
      q[i + 1] = _mm512_unpackhi_pd(r[i].v, r[i + 1].v);
    }
    for (int i = 0; i < 2; ++i) {
      const __m512d even0 = _mm512_shuffle_f64x2(q[i], q[i + 2], 0x88);
      const __m512d odd0 = _mm512_shuffle_f64x2(q[i], q[i + 2], 0xdd);
      const __m512d even1 = _mm512_shuffle_f64x2(q[i + 4], q[i + 6], 0x88);
      const __m512d odd1 = _mm512_shuffle_f64x2(q[i + 4], q[i + 6], 0xdd);
      r[i] = _mm512_shuffle_f64x2(even0, even1, 0x88);
      r[i + 2] = _mm512_shuffle_f64x2(odd0, odd1, 0x88);
      r[i + 4] = _mm512_shuffle_f64x2(even0, even1, 0xdd);
      r[i + 6] = _mm512_shuffle_f64x2(odd0, odd1, 0xdd);
    }
  }

  friend Vec pow2(Vec n) {
    const Vec shifted = n + (0x1.8p52 + 1023);
    return from_bits(_mm512_slli_epi64(bits(shifted), 52));
  }
  // Conversion of 64-bit integers is not in F. Below 2^52 the bits of the integer i are the mantissa of 2^52
  // + i.
  friend Vec exponent(Vec x) {
    const __m512i biased = _mm512_srli_epi64(bits(x), 52);
    return from_bits(_mm512_or_si512(biased, bits(0x1p52))) - (0x1p52 + 1023);
  }
  friend Vec mantissa(Vec x) {
    const __m512i fraction = _mm512_and_si512(bits(x), _mm512_set1_epi64(0x000fffffffffffff));
    return from_bits(_mm512_or_si512(fraction, bits(1)));
  }

 private:
  static __m512i bits(Vec a) { return _mm512_castpd_si512(a.v); }
  static Vec from_bits(__m512i a) { return _mm512_castsi512_pd(a); }
  static __m512i sign_bit() { return _mm512_set1_epi64(INT64_MIN); }
  static __mmask8 first(int64_t n) { return __mmask8((1u << n) - 1); }
  static __m256d lower(Vec a) { return _mm512_castpd512_pd256(a.v); }
  static __m256d upper(Vec a) { return _mm512_extractf64x4_pd(a.v, 1); }
};

}  // namespace minigpt::MINIGPT_ISA
#endif
