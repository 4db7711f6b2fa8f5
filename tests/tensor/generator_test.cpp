#include "tensor/generator.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "tensor/error.h"
#include "tensor/parallel.h"

using namespace minigpt;

namespace {

void check_close(const std::vector<float>& actual, const std::vector<float>& expected, double tolerance) {
  REQUIRE(actual.size() >= expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    CAPTURE(i);
    CHECK(std::abs(actual[i] - expected[i]) <= tolerance);
  }
}

}  // namespace

TEST_CASE("seed 1 gives these numbers with any compiler (T-08)") {
  Generator rng(1);
  SUBCASE("ten normals: the scalar path") {
    std::vector<float> x(10);
    rng.normal(x);
    check_close(x,
                {0.661352172f, 0.266924098f, 0.0616772582f, 0.621317329f, -0.451905965f, -0.166130235f,
                 -1.52276848f, 0.381683902f, -1.02760858f, -0.563052799f},
                1e-7);
    CHECK(rng.u32() == 1800426750);
  }
  SUBCASE("sixteen normals: one block") {
    std::vector<float> x(16);
    rng.normal(x);
    // Math libraries may differ in the last place or two.
    check_close(x,
                {-1.5255959f, -0.750231802f, -0.653980911f, -1.60948479f, -0.100167178f, -0.609188914f,
                 -0.97977227f, -1.60909629f, -0.712144613f, 0.303721994f},
                5e-7);
    CHECK(rng.u32() == 1704103302);
  }
  SUBCASE("bounded integers") {
    std::vector<std::int32_t> x(10);
    rng.randint(x, 0, 100);
    CHECK(x == std::vector<std::int32_t>{45, 39, 24, 68, 63, 13, 91, 41, 59, 32});
    CHECK(rng.u32() == 396591248);
  }
  SUBCASE("a permutation") {
    CHECK(rng.randperm(10) == std::vector<std::int64_t>{5, 6, 1, 2, 0, 8, 9, 3, 7, 4});
    CHECK(rng.u32() == 1013994432);
  }
}

TEST_CASE("the engine is mt19937") {
  for (const std::uint32_t seed : {0u, 1u, 5489u, 0xffffffffu}) {
    Generator rng(seed);
    std::mt19937 standard(seed);
    bool equal = true;
    for (int i = 0; i < 2000; ++i) equal = equal && rng.u32() == standard();  // three regenerations
    CHECK(equal);
  }
}

TEST_CASE("only the low 32 bits of a seed count, and -1 is 2^64 - 1") {
  CHECK(Generator(5).state() == Generator((std::uint64_t{1} << 32) + 5).state());
  CHECK(Generator(static_cast<std::uint64_t>(-1)).u32() == 419326371);
  CHECK(Generator().state() == Generator(67280421310721).state());
}

TEST_CASE("two words make a 64-bit word, the first one is the high half") {
  Generator words(123), pairs(123);
  const std::uint64_t high = words.u32(), low = words.u32();
  CHECK(pairs.u64() == (high << 32 | low));
}

TEST_CASE("a state can be saved and restored between any two calls") {
  Generator rng(7);
  std::vector<float> one(1), rest(3);
  rng.normal(one);  // leaves its partner pending
  CHECK(rng.state().has_pending);
  const GeneratorState saved = rng.state();

  const auto play = [&] {
    std::vector<float> x(40);
    rng.normal(std::span(x).first(3));
    rng.normal(std::span(x).subspan(3, 17));
    rng.uniform(std::span(x).subspan(20));
    return x;
  };
  const std::vector<float> first = play();
  CHECK(play() != first);
  rng.set_state(saved);
  CHECK(play() == first);

  GeneratorState broken = saved;
  broken.position = 625;
  CHECK_THROWS_WITH_AS(rng.set_state(broken), "[generator] state position must be in [0, 624], got 625",
                       Error);
}

TEST_CASE("a pending normal survives other calls and is dropped by seeding") {
  Generator rng(7);
  std::vector<float> one(1), block(16), uniform(3);
  rng.normal(one);
  rng.uniform(uniform);
  rng.normal(block);  // the block path does not touch it
  rng.normal(one);
  CHECK(one[0] == doctest::Approx(0.786141276).epsilon(1e-7));

  rng.normal(one);
  rng.seed(7);
  rng.normal(one);
  CHECK(one[0] == doctest::Approx(-0.146795094).epsilon(1e-7));
}

TEST_CASE("calls consume the documented number of words") {
  // Where the stream of the seed stands after a call: how many words go by until the generator's next one.
  const auto words = [](auto call) {
    Generator rng(3);
    call(rng);
    const std::uint32_t next = rng.u32();
    std::mt19937 standard(3);
    int count = 0;
    while (count < 1000 && standard() != next) ++count;
    return count;
  };
  std::vector<float> f15(15), f16(16), f17(17);
  std::vector<double> d5(5), d17(17);
  CHECK(words([&](Generator& rng) { rng.uniform(f17); }) == 17);
  CHECK(words([&](Generator& rng) { rng.uniform(d5); }) == 2 * 5);
  CHECK(words([&](Generator& rng) { rng.normal(f16); }) == 16);
  CHECK(words([&](Generator& rng) { rng.normal(f17); }) == 17 + 16);  // the last block is drawn again
  CHECK(words([&](Generator& rng) { rng.normal(d17); }) == 2 * (17 + 16));
  CHECK(words([&](Generator& rng) { rng.normal(f15); }) == 4 * 8);  // eight pairs
  CHECK(words([&](Generator& rng) { rng.normal_scalar(f16); }) == 4 * 8);
  CHECK(words([&](Generator& rng) { rng.randint(0, 4294967295); }) == 1);
  CHECK(words([&](Generator& rng) { rng.randint(0, 4294967296); }) == 2);
  CHECK(words([&](Generator& rng) { rng.randperm(10); }) == 9);
  CHECK(words([&](Generator& rng) { rng.randperm(0); }) == 0);
}

TEST_CASE("fills do not depend on the number of threads") {
  std::vector<float> serial(5003), split(5003);
  const auto fill = [](std::vector<float>& x, int threads) {
    const ScopedNumThreads scope(threads);
    const ScopedForceGrainOne force;
    Generator rng(11);
    rng.normal(x, 0.5, 2);
    return rng.u32();
  };
  CHECK(fill(serial, 1) == fill(split, 3));
  CHECK(serial == split);
}

TEST_CASE("uniform and normal have the moments they promise") {
  Generator rng(2024);
  std::vector<float> x(100000);
  const auto moments = [&x] {
    double sum = 0, squares = 0;
    for (const float v : x) sum += v, squares += double(v) * v;
    const double n = static_cast<double>(x.size()), mean = sum / n;
    return std::pair{mean, squares / n - mean * mean};
  };
  rng.uniform(x, -1, 3);
  CHECK(*std::min_element(x.begin(), x.end()) >= -1);
  CHECK(*std::max_element(x.begin(), x.end()) < 3.0001);
  CHECK(std::abs(moments().first - 1) < 0.02);           // 5 standard errors are 0.018
  CHECK(std::abs(moments().second - 16.0 / 12) < 0.02);  // (b - a)^2 / 12
  rng.normal(x, -2, 0.5);
  CHECK(std::abs(moments().first + 2) < 0.01);
  CHECK(std::abs(moments().second - 0.25) < 0.006);
}

TEST_CASE("integers cover their range, including the widest one") {
  Generator rng(5);
  std::vector<int> seen(7);
  for (int i = 0; i < 1000; ++i) ++seen.at(static_cast<std::size_t>(rng.randint(-3, 4) + 3));
  CHECK(std::all_of(seen.begin(), seen.end(), [](int count) { return count > 80; }));  // 143 expected

  using Limits = std::numeric_limits<std::int64_t>;
  bool negative = false, positive = false;
  for (int i = 0; i < 64; ++i) (rng.randint(Limits::min(), Limits::max()) < 0 ? negative : positive) = true;
  CHECK(negative);
  CHECK(positive);
}

TEST_CASE("bad arguments are refused before anything is drawn") {
  Generator rng(1);
  std::vector<float> x(4);
  std::vector<std::int32_t> i(4);
  const double nan = std::nan(""), inf = std::numeric_limits<double>::infinity();
  CHECK_THROWS_WITH_AS(rng.uniform(x, 2, 1), "[uniform] bounds must be finite with a <= b, got 2 and 1",
                       Error);
  CHECK_THROWS_AS(rng.uniform(x, 0, inf), Error);
  CHECK_THROWS_AS(rng.uniform(x, nan, 1), Error);
  CHECK_THROWS_WITH_AS(rng.normal(x, 0, -1),
                       "[normal] mean must be finite and std finite and >= 0, got 0 and -1", Error);
  CHECK_THROWS_AS(rng.normal_scalar(x, nan, 1), Error);
  CHECK_THROWS_WITH_AS(rng.randint(5, 5), "[randint] low must be below high: 5 >= 5", Error);
  CHECK_THROWS_WITH_AS(rng.randint(i, 0, 4294967296),
                       "[randint] [0, 4294967296) does not fit a 32-bit integer", Error);
  CHECK_THROWS_AS(rng.randperm(-1), Error);
  CHECK_THROWS_AS(rng.randperm(std::int64_t{1} << 40), Error);
  CHECK_THROWS_AS(rng.randperm((std::int64_t{1} << 32) / 20), Error);
  CHECK(rng.state() == Generator(1).state());
}
