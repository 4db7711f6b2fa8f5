#include "tensor/dropout_mask.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

#include "tensor/error.h"
#include "tensor/parallel.h"

using namespace minigpt;

namespace {

using Words = std::vector<std::uint32_t>;

Words philox_mask(std::int64_t n, double p, const PhiloxKey& key) {
  Words words(static_cast<std::size_t>(mask_words(n)), 0xdeadbeef);
  philox_keep_bits(words.data(), n, p, key);
  return words;
}

Words torch_mask(Generator& rng, std::int64_t n, double p) {
  Words words(static_cast<std::size_t>(mask_words(n)), 0xdeadbeef);
  torch_keep_bits(rng, words.data(), n, p);
  return words;
}

double kept(const Words& words) {
  double count = 0;
  for (const std::uint32_t word : words) count += std::popcount(word);
  return count;
}

constexpr PhiloxKey kKey{1337, 20, 1, 3};

}  // namespace

TEST_CASE("masks do not change from one version to the next") {
  Generator rng(1);
  CHECK(torch_mask(rng, 64, 0.1) == Words{0xf7cfffff, 0xdfffffe9});
  CHECK(rng.u32() == 214548472);  // two words per element
  CHECK(philox_mask(96, 0.2, kKey) == Words{0xae6ff57f, 0xfd7fff3b, 0xdff767ef});
}

TEST_CASE("dropout keeps the mean: kept share / (1 - p) is 1") {
  const std::int64_t n = 1000000;
  for (const double p : {0.1, 0.2, 0.5, 0.75}) {
    CAPTURE(p);
    Generator rng(12);
    const double tolerance =
        4 * std::sqrt(p / (1 - p) / static_cast<double>(n));  // 4 standard errors, 0.0013 at 0.1
    CHECK(std::abs(kept(philox_mask(n, p, kKey)) / static_cast<double>(n) / (1 - p) - 1) < tolerance);
    CHECK(std::abs(kept(torch_mask(rng, n, p)) / static_cast<double>(n) / (1 - p) - 1) < tolerance);
  }
}

TEST_CASE("p = 0 keeps everything and p = 1 nothing, without drawing; bits beyond n are 0") {
  Generator rng(1);
  for (const auto& mask : {philox_mask(37, 0, kKey), torch_mask(rng, 37, 0)})
    CHECK(mask == Words{0xffffffff, 0x1f});
  for (const auto& mask : {philox_mask(37, 1, kKey), torch_mask(rng, 37, 1)}) CHECK(mask == Words{0, 0});
  CHECK(rng.state() == Generator(1).state());
  CHECK((philox_mask(37, 0.01, kKey)[1] & ~0x1fu) == 0);
  CHECK((torch_mask(rng, 37, 0.01)[1] & ~0x1fu) == 0);
  CHECK(philox_mask(0, 0.5, kKey).empty());
}

TEST_CASE("a philox mask is a function of the key and the element's index alone") {
  const std::int64_t n = 40007;
  const Words whole = philox_mask(n, 0.3, kKey);
  SUBCASE("not of the threads") {
    for (const int threads : {1, 2, 7}) {
      const ScopedNumThreads scope(threads);
      const ScopedForceGrainOne force;
      CHECK(philox_mask(n, 0.3, kKey) == whole);
    }
  }
  SUBCASE("not of the size of the tensor") {
    const Words prefix = philox_mask(320, 0.3, kKey);
    CHECK(std::equal(prefix.begin(), prefix.end(), whole.begin()));
  }
  SUBCASE("not of the tiles") {
    for (const std::int64_t tile : {1, 3, 8, 100}) {
      Words tiled(whole.size());
      const auto count = static_cast<std::int64_t>(whole.size()) - 1;  // the last word has bits beyond n
      for (std::int64_t i = 0; i < count; i += tile)
        philox_keep_words(&tiled[static_cast<std::size_t>(i)], i, std::min(tile, count - i), 0.3, kKey);
      tiled.back() = whole.back();
      CHECK(tiled == whole);
    }
  }
}

TEST_CASE("every part of the key counts: different keys share bits by chance only") {
  const std::int64_t n = 32000;
  const Words mask = philox_mask(n, 0.5, kKey);
  for (const PhiloxKey& other :
       {PhiloxKey{1338, 20, 1, 3}, PhiloxKey{1337, 21, 1, 3}, PhiloxKey{1337, 20, 2, 3},
        PhiloxKey{1337, 20, 1, 4}, PhiloxKey{1337 + (std::uint64_t{1} << 32), 20, 1, 3},
        PhiloxKey{1337, 20 + (std::uint64_t{1} << 32), 1, 3}, PhiloxKey{1337, 20, 3, 1}}) {
    const Words different = philox_mask(n, 0.5, other);
    double equal = 0;
    for (std::size_t i = 0; i < mask.size(); ++i) equal += std::popcount(~(mask[i] ^ different[i]));
    CHECK(std::abs(equal / static_cast<double>(n) - 0.5) < 0.014);  // 5 standard errors
  }
}

TEST_CASE("bits are as likely at every position, and neighbours are independent") {
  const std::int64_t words = 20000;
  const Words mask = philox_mask(32 * words, 0.2, kKey);
  for (int bit = 0; bit < 32; ++bit) {
    double count = 0, pairs = 0;
    for (std::size_t i = 0; i + 1 < mask.size(); ++i) {
      const std::uint32_t here = mask[i] >> bit & 1,
                          next = (bit < 31 ? mask[i] >> (bit + 1) : mask[i + 1]) & 1;
      count += here;
      pairs += here & next;
    }
    CAPTURE(bit);
    CHECK(std::abs(count / static_cast<double>(words) - 0.8) < 0.0142);  // 5 standard errors
    CHECK(std::abs(pairs / static_cast<double>(words) - 0.64) < 0.017);
  }
}

TEST_CASE("probabilities count in steps of 2^-32") {
  // 2^-40 rounds to nothing dropped; 2^-32 drops one element in four billion.
  CHECK(kept(philox_mask(3200, 0x1p-40, kKey)) == 3200);
  CHECK(kept(philox_mask(3200, 0x1p-32, kKey)) == 3200);
  CHECK(std::abs(kept(philox_mask(320000, 1 - 0x1p-10, kKey)) - 312.5) < 90);
}

TEST_CASE("p outside [0, 1] is refused") {
  Generator rng(1);
  std::uint32_t word = 0;
  CHECK_THROWS_WITH_AS(philox_keep_bits(&word, 1, 1.5, kKey), "[dropout] p must be in [0, 1], got 1.5",
                       Error);
  CHECK_THROWS_WITH_AS(torch_keep_bits(rng, &word, 1, -0.1), "[dropout] p must be in [0, 1], got -0.1",
                       Error);
  CHECK_THROWS_WITH_AS(torch_keep_bits(rng, &word, 1, std::nan("")), "[dropout] p must be in [0, 1], got nan",
                       Error);
  CHECK_THROWS_AS(philox_keep_bits(&word, -1, 0.5, kKey), Error);
  CHECK_THROWS_AS(philox_keep_bits(&word, std::int64_t{1} << 38, 0.5, kKey), Error);
  CHECK_THROWS_AS(torch_keep_bits(rng, &word, -1, 0.5), Error);
}
