#pragma once
// Dropout masks as packed bits: bit i % 32 of word i / 32 tells whether element i (counted row-major) is
// kept.
//
// A mask costs 1/32 of a float tensor, and whoever applies it multiplies kept elements by 1 / (1 - p), so
// that the mean stays what it was (Srivastava et al., "Dropout", 2014). Bits of the last word beyond n are 0.

#include <cstdint>

#include "tensor/generator.h"

namespace minigpt {

// Words of a mask of n elements.
constexpr std::int64_t mask_words(std::int64_t n) { return (n + 31) / 32; }

// Whether element i is kept.
constexpr bool mask_bit(const std::uint32_t* words, std::int64_t i) { return words[i / 32] >> (i % 32) & 1; }

// What a mask of the counter-based stream depends on, besides the element's index.
struct PhiloxKey {
  std::uint64_t seed = 0;        // of the run
  std::uint64_t step = 0;        // the optimiser step
  std::uint32_t micro_step = 0;  // gradient accumulation: which forward pass of the step
  std::uint32_t call = 0;        // which dropout of the forward pass
};

// Writes mask_words(n) words; each element is kept with probability 1 - p (rounded to a multiple of 2^-32).
// A pure function of the key and the element's index: threads, tiles and the order of calls have no
// influence, so the backward pass or a recomputation can make the same bits again. Throws Error unless p is
// in [0, 1] and 0 <= n < 2^37.
void philox_keep_bits(std::uint32_t* words, std::int64_t n, double p, const PhiloxKey& key);

// The words first .. first + count - 1 of that mask, for a kernel that works tile by tile. Runs on the
// calling thread; elements beyond the tensor's last one get a bit like all others. Throws as above (first +
// count <= 2^32).
void philox_keep_words(std::uint32_t* words, std::int64_t first, std::int64_t count, double p,
                       const PhiloxKey& key);

// The mask that PyTorch's F.dropout(x, p) draws for a tensor of n elements: 2 words each, kept if
// rng.unit_double() < 1 - p. Nothing is drawn if p is 0 or 1. Throws Error unless p is in [0, 1] and n >= 0.
void torch_keep_bits(Generator& rng, std::uint32_t* words, std::int64_t n, double p);

}  // namespace minigpt
