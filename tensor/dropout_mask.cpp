#include "tensor/dropout_mask.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

#include "tensor/error.h"
#include "tensor/parallel.h"
#include "tensor/philox.h"

namespace minigpt {

namespace {

// Mask words made together, so that the compiler can keep the same step of several Philox blocks in one
// register.
constexpr std::size_t kLanes = 8;
using Lanes = std::array<std::uint32_t, kLanes>;

// Words per range of a parallel loop: about 20 microseconds.
constexpr std::int64_t kGrain = 1024;

constexpr std::int64_t kMaxWords = std::int64_t{1} << 32;
constexpr int kDigits = 32;

void check_p(double p) { check(p >= 0 && p <= 1, "dropout", "p must be in [0, 1], got {}", p); }

// Zeroes the bits of the last word that belong to no element.
void clear_tail(std::uint32_t* words, std::int64_t n) {
  if (n % 32 != 0) words[n / 32] &= (std::uint32_t{1} << (n % 32)) - 1;
}

// One Philox block in front of the stream mixes the whole key: different (step, micro_step, call) of a seed
// give different blocks, whose four words then become the key and half of the counter. The other half counts
// within the mask.
PhiloxBlock stream_of(const PhiloxKey& key) {
  return philox4x32({static_cast<std::uint32_t>(key.step), static_cast<std::uint32_t>(key.step >> 32),
                     key.micro_step, key.call},
                    {static_cast<std::uint32_t>(key.seed), static_cast<std::uint32_t>(key.seed >> 32)});
}

// philox4x32({first + lane, group, stream[2], stream[3]}, {stream[0], stream[1]}) for all lanes.
//
// Four plain arrays with the loop over lanes innermost: compilers turn that into vector code for any instruction set.
// Told not to unroll it, because GCC vectorises the loop but not its unrolled pieces (three times slower).
std::array<Lanes, 4> philox_lanes(std::uint32_t first, std::uint32_t group, const PhiloxBlock& stream) {
  std::uint32_t c0[kLanes], c1[kLanes], c2[kLanes], c3[kLanes];
  for (std::size_t l = 0; l < kLanes; ++l) {
    c0[l] = first + static_cast<std::uint32_t>(l);
    c1[l] = group;
    c2[l] = stream[2];
    c3[l] = stream[3];
  }
  std::uint32_t key0 = stream[0], key1 = stream[1];
  for (int round = 0; round < detail::kPhiloxRounds; ++round) {
#pragma GCC unroll 1
    for (std::size_t l = 0; l < kLanes; ++l) {
      const std::uint64_t a = std::uint64_t{detail::kPhiloxMultiplier0} * c0[l];
      const std::uint64_t b = std::uint64_t{detail::kPhiloxMultiplier1} * c2[l];
      c0[l] = static_cast<std::uint32_t>(b >> 32) ^ c1[l] ^ key0;
      c1[l] = static_cast<std::uint32_t>(b);
      c2[l] = static_cast<std::uint32_t>(a >> 32) ^ c3[l] ^ key1;
      c3[l] = static_cast<std::uint32_t>(a);
    }
    key0 += detail::kPhiloxStep0;
    key1 += detail::kPhiloxStep1;
  }
  std::array<Lanes, 4> block;
  std::copy_n(c0, kLanes, block[0].begin());
  std::copy_n(c1, kLanes, block[1].begin());
  std::copy_n(c2, kLanes, block[2].begin());
  std::copy_n(c3, kLanes, block[3].begin());
  return block;
}

// kLanes mask words, in which a bit is set with probability threshold / 2^32.
//
// Element i has a random number U with binary digits 0.u1 u2 u3 ..., and is kept if U < threshold / 2^32.
// Comparing takes only the digits up to the first one that differs, two on average. So digits are drawn one
// at a time for 32 elements at once (a random word is one digit of 32 numbers), until all are decided: some
// 13 words per mask word instead of 32, and the result comes packed.
Lanes keep_lanes(std::uint32_t first, std::uint32_t threshold, const PhiloxBlock& stream) {
  Lanes keep{}, undecided;
  undecided.fill(~std::uint32_t{0});
  for (int digit = 0; digit < kDigits; digit += 4) {
    // Digits of zero only lie ahead: U can no longer come out smaller.
    if (static_cast<std::uint32_t>(threshold << digit) == 0) break;
    const std::array<Lanes, 4> random = philox_lanes(first, static_cast<std::uint32_t>(digit / 4), stream);
    for (int i = 0; i < 4; ++i) {
      // All ones if the threshold's digit is 1: then U's 0 means smaller, kept. If it is 0, U's 1 means greater.
      const std::uint32_t one = 0u - (threshold >> (kDigits - 1 - digit - i) & 1u);
      const Lanes& u = random[static_cast<std::size_t>(i)];
#pragma GCC unroll 1
      for (std::size_t l = 0; l < kLanes; ++l) {
        keep[l] |= undecided[l] & one & ~u[l];
        undecided[l] &= ~(one ^ u[l]);
      }
    }
    std::uint32_t any = 0;
    for (const std::uint32_t lane : undecided) any |= lane;
    if (any == 0) break;
  }
  return keep;
}

}  // namespace

void philox_keep_words(std::uint32_t* words, std::int64_t first, std::int64_t count, double p,
                       const PhiloxKey& key) {
  check_p(p);
  check(first >= 0 && count >= 0 && first <= kMaxWords - count, "dropout",
        "a mask has at most {} words, asked for {} from {}", kMaxWords, count, first);
  const double threshold = std::nearbyint((1 - p) * 0x1p32);
  if (threshold == 0x1p32 || threshold == 0) {
    std::fill_n(words, count, threshold == 0 ? 0u : ~0u);
    return;
  }
  const PhiloxBlock stream = stream_of(key);
  for (std::int64_t i = 0; i < count; i += static_cast<std::int64_t>(kLanes)) {
    const Lanes keep =
        keep_lanes(static_cast<std::uint32_t>(first + i), static_cast<std::uint32_t>(threshold), stream);
    std::copy_n(keep.begin(), std::min<std::int64_t>(static_cast<std::int64_t>(kLanes), count - i),
                words + i);
  }
}

void philox_keep_bits(std::uint32_t* words, std::int64_t n, double p, const PhiloxKey& key) {
  check_p(p);
  check(n >= 0 && mask_words(n) <= kMaxWords, "dropout", "n must be in [0, 2^37), got {}", n);
  // Every word is a function of its own index, so any split gives the same mask.
  parallel_for(mask_words(n), kGrain, [&](std::int64_t begin, std::int64_t end) {
    philox_keep_words(words + begin, begin, end - begin, p, key);
  });
  clear_tail(words, n);
}

void torch_keep_bits(Generator& rng, std::uint32_t* words, std::int64_t n, double p) {
  check_p(p);
  check(n >= 0, "dropout", "n must not be negative, got {}", n);
  if (p == 0 || p == 1) {
    std::fill_n(words, mask_words(n), p == 0 ? ~0u : 0u);
    return clear_tail(words, n);
  }
  const double q = 1 - p;
  for (std::int64_t begin = 0; begin < n; begin += 32) {
    const auto bits = static_cast<int>(std::min<std::int64_t>(32, n - begin));
    std::uint32_t word = 0;
    for (int i = 0; i < bits; ++i) word |= static_cast<std::uint32_t>(rng.unit_double() < q) << i;
    words[begin / 32] = word;
  }
}

}  // namespace minigpt
