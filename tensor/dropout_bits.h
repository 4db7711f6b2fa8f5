#pragma once
// A dropout mask on its way to a kernel.

#include <cstdint>

namespace minigpt {

// Packed keep bits (dropout_mask.h: bit i % 32 of word i / 32 belongs to element i) and the probability of
// dropping that they were drawn with: kept elements are multiplied by 1 / (1 - p).
struct DropoutBits {
  const std::uint32_t* words;
  double p;

  // The factor of kept elements; with p = 1 nothing is kept and the factor does not matter.
  constexpr double scale() const { return p < 1 ? 1 / (1 - p) : 0; }
};

}  // namespace minigpt
