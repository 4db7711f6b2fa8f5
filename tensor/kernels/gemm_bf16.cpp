// Matrix products of numbers rounded to bfloat16 (8 significant bits), summed in float. Compiled once per
// instruction set.
//
// With AVX512-BF16 a packed float carries a pair of bf16 numbers, of depths 2p and 2p + 1, and one instruction
// adds both their products to a sum: half the work. The micro-kernel is the same, only its step differs.
// Elsewhere numbers are rounded on packing and the ordinary kernel multiplies them, which is exact for factors
// of 8 bits; so the results of the two agree up to the rounding and the order of the sums.
// (The instruction takes subnormal factors as 0 and rounds sums to nearest even: Intel Architecture Instruction
// Set Extensions Programming Reference, VDPBF16PS.)
#include "tensor/kernels/gemm.h"
#include "tensor/kernels/gemm_pack.h"
#include "tensor/kernels/gemm_tile.h"
#include "tensor/kernels/peak_loop.h"

namespace minigpt::MINIGPT_ISA {

namespace {

#if defined(MINIGPT_ISA_avx512_bf16)

struct Product {
  static Vec<float> add(Vec<float> a, Vec<float> b, Vec<float> sum) {
    return _mm512_dpbf16_ps(sum.v, pairs(a), pairs(b));
  }
  static __m512bh pairs(Vec<float> x) { return (__m512bh)(x.v); }  // the same bits
};

struct Source {
  static constexpr int kUnit = 2;
  static Vec<float> along(const float* x, int64_t n) {
    if (n == 32) return pairs(_mm512_loadu_ps(x), _mm512_loadu_ps(x + 16));
    const Vec<float> low = Vec<float>::load_n(x, at_most(n, 16));
    return pairs(low.v, n > 16 ? Vec<float>::load_n(x + 16, n - 16).v : _mm512_setzero_ps());
  }
  static Vec<float> across(const float* x, int64_t step, int64_t d, int64_t n) {
    const Vec<float> low = Plain::across(x, 0, 0, n);
    const Vec<float> high = d > 1 ? Plain::across(x + step, 0, 0, n) : Vec<float>(0.0f);
    return _mm512_castsi512_ps(_mm512_or_si512(widened(low), _mm512_slli_epi32(widened(high), 16)));
  }
  static float one(const float* x, int64_t step, int64_t d) {
    const float values[2] = {x[0], d > 1 ? x[step] : 0.0f};
    return _mm512_cvtss_f32(along(values, 2).v);
  }

 private:
  static Vec<float> pairs(__m512 low, __m512 high) { return (__m512)(_mm512_cvtne2ps_pbh(high, low)); }
  static __m512i widened(Vec<float> x) { return _mm512_cvtepu16_epi32((__m256i)(_mm512_cvtneps_pbh(x.v))); }
};

constexpr int kUnit = 2;

#else

using Product = FusedMultiplyAdd;

struct Source {
  static constexpr int kUnit = 1;
  static Vec<float> along(const float* x, int64_t n) { return round_to_bf16(Plain::along(x, n)); }
  static Vec<float> across(const float* x, int64_t, int64_t, int64_t n) { return along(x, n); }
  static float one(const float* x, int64_t, int64_t) {
    float y;
    round_to_bf16(Vec<float>(*x)).store_n(&y, 1);
    return y;
  }
};

constexpr int kUnit = 1;

#endif

}  // namespace

void bind_bf16(PeakKernels<float>& k) { bind_peak<Product>(k, kUnit); }

void bind_bf16(GemmKernels<float>& k) {
  k.row_tile = kRows;
  k.column_tile = kColumns<float>;
  k.row_block = kRowBlock<float>;
  k.depth_block = kDepthBlock;
  k.depth_unit = kUnit;
  k.packed_only = true;
  k.block = block<Product, float>;
  k.pack = pack<Source, float>;
  k.row = nullptr;
  k.activate = activate<float>;
  k.activate_backward = activate_backward<float>;
}

}  // namespace minigpt::MINIGPT_ISA
