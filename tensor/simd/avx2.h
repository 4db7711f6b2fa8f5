#pragma once
// Vec<T> on AVX2 + FMA: 8 floats or 4 doubles. vec.h says what each operation means.

#include "tensor/simd/isa.h"

#if defined(MINIGPT_ISA_avx2)
#include <immintrin.h>
#include <stdint.h>
#include <string.h>

namespace minigpt::MINIGPT_ISA {

template <class T>
struct Mask;  // every lane all ones or all zeros
template <class T>
struct Vec;

// Entries [8 - n, 16 - n) are n times "take", then "skip": the lane mask of load_n and store_n.
alignas(64) static constexpr int32_t kTake32[16] = {-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0};
alignas(64) static constexpr int64_t kTake64[8] = {-1, -1, -1, -1, 0, 0, 0, 0};

// --- float ---------------------------------------------------------------------------------------

template <>
struct Mask<float> {
  __m256 m;

  friend Mask operator&(Mask a, Mask b) { return {_mm256_and_ps(a.m, b.m)}; }
  friend Mask operator|(Mask a, Mask b) { return {_mm256_or_ps(a.m, b.m)}; }
  friend Mask operator!(Mask a) { return {_mm256_xor_ps(a.m, _mm256_castsi256_ps(_mm256_set1_epi32(-1)))}; }
  friend bool any(Mask a) { return _mm256_movemask_ps(a.m) != 0; }
  friend bool all(Mask a) { return _mm256_movemask_ps(a.m) == 0xff; }
};

template <>
struct Vec<float> {
  static constexpr int kWidth = 8;
  __m256 v;

  Vec() = default;
  Vec(__m256 x) : v(x) {}
  Vec(float x) : v(_mm256_set1_ps(x)) {}
  static Vec broadcast(float x) { return x; }
  static Vec load(const float* p) { return _mm256_loadu_ps(p); }
  static Vec load_n(const float* p, int64_t n) { return _mm256_maskload_ps(p, first(n)); }
  static Vec load_bf16(const uint16_t* p) {
    const __m256i bits = _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
    return _mm256_castsi256_ps(_mm256_slli_epi32(bits, 16));
  }
  static Vec load_bf16_n(const uint16_t* p, int64_t n) {
    uint16_t first_n[kWidth] = {};
    memcpy(first_n, p, size_t(n) * sizeof *p);
    return load_bf16(first_n);
  }
  void store(float* p) const { _mm256_storeu_ps(p, v); }
  void store_n(float* p, int64_t n) const { _mm256_maskstore_ps(p, first(n), v); }

  friend Vec operator+(Vec a, Vec b) { return _mm256_add_ps(a.v, b.v); }
  friend Vec operator-(Vec a, Vec b) { return _mm256_sub_ps(a.v, b.v); }
  friend Vec operator*(Vec a, Vec b) { return _mm256_mul_ps(a.v, b.v); }
  friend Vec operator/(Vec a, Vec b) { return _mm256_div_ps(a.v, b.v); }
  friend Vec operator-(Vec a) { return _mm256_xor_ps(a.v, sign_bit()); }
  Vec& operator+=(Vec b) { return *this = *this + b; }
  Vec& operator-=(Vec b) { return *this = *this - b; }
  Vec& operator*=(Vec b) { return *this = *this * b; }
  Vec& operator/=(Vec b) { return *this = *this / b; }

  friend Vec fma(Vec a, Vec b, Vec c) { return _mm256_fmadd_ps(a.v, b.v, c.v); }
  friend Vec min(Vec a, Vec b) { return _mm256_min_ps(a.v, b.v); }
  friend Vec max(Vec a, Vec b) { return _mm256_max_ps(a.v, b.v); }
  friend Vec abs(Vec a) { return _mm256_andnot_ps(sign_bit(), a.v); }
  friend Vec sqrt(Vec a) { return _mm256_sqrt_ps(a.v); }
  friend Vec copysign(Vec magnitude, Vec sign) {
    return _mm256_or_ps(_mm256_andnot_ps(sign_bit(), magnitude.v), _mm256_and_ps(sign_bit(), sign.v));
  }
  friend Vec round(Vec a) { return _mm256_round_ps(a.v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }

  // Half of the last kept place is added, a little less if the kept part is even; the rest is cut off.
  friend Vec round_to_bf16(Vec a) {
    const __m256i bits = _mm256_castps_si256(a.v);
    const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
    const __m256i up = _mm256_add_epi32(bits, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff)));
    const __m256i kept = _mm256_and_si256(up, _mm256_set1_epi32(INT32_C(-0x10000)));
    return select(is_nan(a), a, _mm256_castsi256_ps(kept));
  }

  friend Mask<float> operator<(Vec a, Vec b) { return {_mm256_cmp_ps(a.v, b.v, _CMP_LT_OQ)}; }
  friend Mask<float> operator<=(Vec a, Vec b) { return {_mm256_cmp_ps(a.v, b.v, _CMP_LE_OQ)}; }
  friend Mask<float> operator>(Vec a, Vec b) { return b < a; }
  friend Mask<float> operator>=(Vec a, Vec b) { return b <= a; }
  friend Mask<float> operator==(Vec a, Vec b) { return {_mm256_cmp_ps(a.v, b.v, _CMP_EQ_OQ)}; }
  friend Mask<float> is_nan(Vec a) { return {_mm256_cmp_ps(a.v, a.v, _CMP_UNORD_Q)}; }
  friend Vec select(Mask<float> m, Vec a, Vec b) { return _mm256_blendv_ps(b.v, a.v, m.m); }

  friend float reduce_sum(Vec a) {
    __m128 s = _mm_add_ps(_mm256_castps256_ps128(a.v), _mm256_extractf128_ps(a.v, 1));
    s = _mm_add_ps(s, _mm_movehl_ps(s, s));
    return _mm_cvtss_f32(_mm_add_ss(s, _mm_movehdup_ps(s)));
  }
  friend float reduce_max(Vec a) {
    __m128 s = _mm_max_ps(_mm256_castps256_ps128(a.v), _mm256_extractf128_ps(a.v, 1));
    s = _mm_max_ps(s, _mm_movehl_ps(s, s));
    return _mm_cvtss_f32(_mm_max_ss(s, _mm_movehdup_ps(s)));
  }
  // Twice pairs of rows are interleaved within each 128-bit half, then the halves are exchanged.
  static void transpose(Vec* r) {
    __m256d half[8];
    for (int i = 0; i < 8; i += 4) {
      const __m256d low01 = _mm256_castps_pd(_mm256_unpacklo_ps(r[i].v, r[i + 1].v));
      const __m256d high01 = _mm256_castps_pd(_mm256_unpackhi_ps(r[i].v, r[i + 1].v));
      const __m256d low23 = _mm256_castps_pd(_mm256_unpacklo_ps(r[i + 2].v, r[i + 3].v));
      const __m256d high23 = _mm256_castps_pd(_mm256_unpackhi_ps(r[i + 2].v, r[i + 3].v));
      half[i] = _mm256_unpacklo_pd(low01, low23);
      half[i + 1] = _mm256_unpackhi_pd(low01, low23);
      half[i + 2] = _mm256_unpacklo_pd(high01, high23);
      half[i + 3] = _mm256_unpackhi_pd(high01, high23);
    }
    for (int i = 0; i < 4; ++i) {
      r[i] = _mm256_castpd_ps(_mm256_permute2f128_pd(half[i], half[i + 4], 0x20));
      r[i + 4] = _mm256_castpd_ps(_mm256_permute2f128_pd(half[i], half[i + 4], 0x31));
    }
  }

  // Adding 1.5 * 2^23 leaves the integer n + 127 in the low mantissa bits; the shift moves it into the
  // exponent.
  friend Vec pow2(Vec n) {
    const __m256 shifted = _mm256_add_ps(n.v, _mm256_set1_ps(0x1.8p23f + 127));
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_castps_si256(shifted), 23));
  }
  friend Vec exponent(Vec x) {
    const __m256i biased = _mm256_srli_epi32(_mm256_castps_si256(x.v), 23);
    return _mm256_cvtepi32_ps(_mm256_sub_epi32(biased, _mm256_set1_epi32(127)));
  }
  friend Vec mantissa(Vec x) {
    const __m256 fraction = _mm256_castsi256_ps(_mm256_set1_epi32(0x007fffff));
    return _mm256_or_ps(_mm256_and_ps(x.v, fraction), _mm256_set1_ps(1));
  }

 private:
  static __m256 sign_bit() { return _mm256_set1_ps(-0.0f); }
  static __m256i first(int64_t n) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(kTake32 + (kWidth - n)));
  }
};

// --- double --------------------------------------------------------------------------------------

template <>
struct Mask<double> {
  __m256d m;

  friend Mask operator&(Mask a, Mask b) { return {_mm256_and_pd(a.m, b.m)}; }
  friend Mask operator|(Mask a, Mask b) { return {_mm256_or_pd(a.m, b.m)}; }
  friend Mask operator!(Mask a) { return {_mm256_xor_pd(a.m, _mm256_castsi256_pd(_mm256_set1_epi32(-1)))}; }
  friend bool any(Mask a) { return _mm256_movemask_pd(a.m) != 0; }
  friend bool all(Mask a) { return _mm256_movemask_pd(a.m) == 0xf; }
};

template <>
struct Vec<double> {
  static constexpr int kWidth = 4;
  __m256d v;

  Vec() = default;
  Vec(__m256d x) : v(x) {}
  Vec(double x) : v(_mm256_set1_pd(x)) {}
  static Vec broadcast(double x) { return x; }
  static Vec load(const double* p) { return _mm256_loadu_pd(p); }
  static Vec load_n(const double* p, int64_t n) { return _mm256_maskload_pd(p, first(n)); }
  void store(double* p) const { _mm256_storeu_pd(p, v); }
  void store_n(double* p, int64_t n) const { _mm256_maskstore_pd(p, first(n), v); }

  friend Vec operator+(Vec a, Vec b) { return _mm256_add_pd(a.v, b.v); }
  friend Vec operator-(Vec a, Vec b) { return _mm256_sub_pd(a.v, b.v); }
  friend Vec operator*(Vec a, Vec b) { return _mm256_mul_pd(a.v, b.v); }
  friend Vec operator/(Vec a, Vec b) { return _mm256_div_pd(a.v, b.v); }
  friend Vec operator-(Vec a) { return _mm256_xor_pd(a.v, sign_bit()); }
  Vec& operator+=(Vec b) { return *this = *this + b; }
  Vec& operator-=(Vec b) { return *this = *this - b; }
  Vec& operator*=(Vec b) { return *this = *this * b; }
  Vec& operator/=(Vec b) { return *this = *this / b; }

  friend Vec fma(Vec a, Vec b, Vec c) { return _mm256_fmadd_pd(a.v, b.v, c.v); }
  friend Vec min(Vec a, Vec b) { return _mm256_min_pd(a.v, b.v); }
  friend Vec max(Vec a, Vec b) { return _mm256_max_pd(a.v, b.v); }
  friend Vec abs(Vec a) { return _mm256_andnot_pd(sign_bit(), a.v); }
  friend Vec sqrt(Vec a) { return _mm256_sqrt_pd(a.v); }
  friend Vec copysign(Vec magnitude, Vec sign) {
    return _mm256_or_pd(_mm256_andnot_pd(sign_bit(), magnitude.v), _mm256_and_pd(sign_bit(), sign.v));
  }
  friend Vec round(Vec a) { return _mm256_round_pd(a.v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }

  friend Mask<double> operator<(Vec a, Vec b) { return {_mm256_cmp_pd(a.v, b.v, _CMP_LT_OQ)}; }
  friend Mask<double> operator<=(Vec a, Vec b) { return {_mm256_cmp_pd(a.v, b.v, _CMP_LE_OQ)}; }
  friend Mask<double> operator>(Vec a, Vec b) { return b < a; }
  friend Mask<double> operator>=(Vec a, Vec b) { return b <= a; }
  friend Mask<double> operator==(Vec a, Vec b) { return {_mm256_cmp_pd(a.v, b.v, _CMP_EQ_OQ)}; }
  friend Mask<double> is_nan(Vec a) { return {_mm256_cmp_pd(a.v, a.v, _CMP_UNORD_Q)}; }
  friend Vec select(Mask<double> m, Vec a, Vec b) { return _mm256_blendv_pd(b.v, a.v, m.m); }

  friend double reduce_sum(Vec a) {
    const __m128d s = _mm_add_pd(_mm256_castpd256_pd128(a.v), _mm256_extractf128_pd(a.v, 1));
    return _mm_cvtsd_f64(_mm_add_sd(s, _mm_unpackhi_pd(s, s)));
  }
  friend double reduce_max(Vec a) {
    const __m128d s = _mm_max_pd(_mm256_castpd256_pd128(a.v), _mm256_extractf128_pd(a.v, 1));
    return _mm_cvtsd_f64(_mm_max_sd(s, _mm_unpackhi_pd(s, s)));
  }
  static void transpose(Vec* r) {
    __m256d half[4];
    for (int i = 0; i < 4; i += 2) {
      half[i] = _mm256_unpacklo_pd(r[i].v, r[i + 1].v);
      half[i + 1] = _mm256_unpackhi_pd(r[i].v, r[i + 1].v);
    }
    for (int i = 0; i < 2; ++i) {
      r[i] = _mm256_permute2f128_pd(half[i], half[i + 2], 0x20);
      r[i + 2] = _mm256_permute2f128_pd(half[i], half[i + 2], 0x31);
    }
  }

  friend Vec pow2(Vec n) {
    const __m256d shifted = _mm256_add_pd(n.v, _mm256_set1_pd(0x1.8p52 + 1023));
    return _mm256_castsi256_pd(_mm256_slli_epi64(_mm256_castpd_si256(shifted), 52));
  }
  // AVX2 cannot convert 64-bit integers. Below 2^52 the bits of the integer i are the mantissa of 2^52 + i.
  friend Vec exponent(Vec x) {
    const __m256i biased = _mm256_srli_epi64(_mm256_castpd_si256(x.v), 52);
    const __m256d base = _mm256_set1_pd(0x1p52);
    const __m256d sum = _mm256_or_pd(_mm256_castsi256_pd(biased), base);
    return _mm256_sub_pd(sum, _mm256_set1_pd(0x1p52 + 1023));
  }
  friend Vec mantissa(Vec x) {
    const __m256d fraction = _mm256_castsi256_pd(_mm256_set1_epi64x(0x000fffffffffffff));
    return _mm256_or_pd(_mm256_and_pd(x.v, fraction), _mm256_set1_pd(1));
  }

 private:
  static __m256d sign_bit() { return _mm256_set1_pd(-0.0); }
  static __m256i first(int64_t n) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(kTake64 + (kWidth - n)));
  }
};

}  // namespace minigpt::MINIGPT_ISA
#endif
