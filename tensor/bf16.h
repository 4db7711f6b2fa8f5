#pragma once
// BFloat16: the upper half of a float32. The same range of exponents, 8 significant bits instead of 24.
//
// A type for storage: numbers are kept in it to halve the bytes that are read, and computed with as float32.
// (Wang and Kanwar 2019, "BFloat16: the secret to high performance on Cloud TPUs".)

#include <bit>
#include <cstdint>

#include "tensor/simd/no_fast_math.h"

namespace minigpt {

struct BFloat16 {
  std::uint16_t bits = 0;

  constexpr BFloat16() = default;

  // Rounds to the nearest, ties to even; beyond the largest to infinity. NaN stays NaN.
  explicit constexpr BFloat16(float x) {
    const auto b = std::bit_cast<std::uint32_t>(x);
    // Half a unit of the last kept bit, or just below it where that bit is even, carries into it. It would also carry
    // a NaN with a full fraction over to zero: NaNs are cut instead, with the "quiet" bit set.
    bits = static_cast<std::uint16_t>(x != x ? (b >> 16) | 0x40 : (b + 0x7fff + ((b >> 16) & 1)) >> 16);
  }

  // Exact.
  constexpr operator float() const { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }
};

}  // namespace minigpt
