#pragma once
// Philox4x32-10: a random number generator without a state.
//
// J. Salmon, M. Moraes, R. Dror, D. Shaw, "Parallel Random Numbers: As Easy as 1, 2, 3" (SC 2011),
// section 3.3. A block of four words is a function of a counter and a key, so any element of a stream can be
// made at any time, by any thread, in any order, and made again in the backward pass.

#include <array>
#include <cstdint>

namespace minigpt {

using PhiloxBlock = std::array<std::uint32_t, 4>;

namespace detail {

// The multipliers of the round and the steps of the key (section 3.3; the golden ratio and sqrt(3) - 1 in 32
// bits).
inline constexpr std::uint32_t kPhiloxMultiplier0 = 0xD2511F53, kPhiloxMultiplier1 = 0xCD9E8D57;
inline constexpr std::uint32_t kPhiloxStep0 = 0x9E3779B9, kPhiloxStep1 = 0xBB67AE85;
inline constexpr int kPhiloxRounds = 10;

}  // namespace detail

// The four words that belong to a counter and a key. For one key, different counters give different blocks.
constexpr PhiloxBlock philox4x32(PhiloxBlock counter, std::array<std::uint32_t, 2> key) {
  for (int round = 0; round < detail::kPhiloxRounds; ++round) {
    const std::uint64_t a = std::uint64_t{detail::kPhiloxMultiplier0} * counter[0];
    const std::uint64_t b = std::uint64_t{detail::kPhiloxMultiplier1} * counter[2];
    counter = {static_cast<std::uint32_t>(b >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(b),
               static_cast<std::uint32_t>(a >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(a)};
    key[0] += detail::kPhiloxStep0;
    key[1] += detail::kPhiloxStep1;
  }
  return counter;
}

}  // namespace minigpt
