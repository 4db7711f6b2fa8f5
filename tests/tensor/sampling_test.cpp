#include "tensor/sampling.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include "tensor/error.h"

using namespace minigpt;

namespace {

using Indices = std::vector<std::int64_t>;

Indices draw(Generator& rng, const std::vector<float>& weights, std::int64_t k, bool replacement = false,
             std::int64_t rows = 1) {
  return multinomial(rng, std::span<const float>(weights), rows, k, replacement);
}

}  // namespace

TEST_CASE("seed 1 gives these draws with any compiler") {
  Generator rng(1);
  SUBCASE("three of six without replacement") {
    CHECK(draw(rng, {1, 2, 3, 4, 5, 6}, 3) == Indices{5, 3, 0});
    CHECK(rng.u32() == 799981516);
  }
  SUBCASE("waiting times") {
    std::vector<float> x(3);
    exponential(rng, x);
    CHECK(x[0] == doctest::Approx(0.0629965365).epsilon(1e-7));
    CHECK(x[1] == doctest::Approx(0.254317582).epsilon(1e-7));
    CHECK(x[2] == doctest::Approx(0.266902804).epsilon(1e-7));
  }
}

TEST_CASE("bernoulli counts its ones, and takes p = 0 and p = 1 literally") {
  Generator rng(9);
  std::vector<float> x(20000);
  bernoulli(rng, x, 0.3);
  CHECK(std::abs(static_cast<double>(std::count(x.begin(), x.end(), 1.0f)) / 20000 - 0.3) < 0.015);
  bernoulli(rng, x, 0);
  CHECK(std::count(x.begin(), x.end(), 0.0f) == 20000);
  bernoulli(rng, x, 1);
  CHECK(std::count(x.begin(), x.end(), 1.0f) == 20000);
  const std::vector<double> p = {0, 1, 0, 1};
  std::vector<double> y(4);
  bernoulli(rng, std::span<const double>(p), y);
  CHECK(y == p);
}

TEST_CASE("exponential has mean 1 / lambda and is never negative") {
  Generator rng(4);
  std::vector<double> x(50000);
  exponential(rng, x, 4);
  double sum = 0;
  for (const double v : x) sum += v;
  CHECK(std::abs(sum / 50000 - 0.25) < 0.006);
  CHECK(*std::min_element(x.begin(), x.end()) >= 0);
}

TEST_CASE("multinomial draws each index in proportion to its weight") {
  Generator rng(31);
  const std::vector<float> weights = {1, 0, 2, 5};  // an index without weight never comes
  for (const bool replacement : {false, true}) {
    std::vector<int> count(4);
    for (int i = 0; i < 8000; ++i) ++count[static_cast<std::size_t>(draw(rng, weights, 1, replacement)[0])];
    CAPTURE(replacement);
    CHECK(std::abs(count[0] - 1000) < 150);
    CHECK(count[1] == 0);
    CHECK(std::abs(count[2] - 2000) < 200);
    CHECK(std::abs(count[3] - 5000) < 220);
  }
}

TEST_CASE("multinomial without replacement never repeats an index, and works row by row") {
  Generator rng(8);
  for (int repeat = 0; repeat < 50; ++repeat) {
    Indices all = draw(rng, {1, 2, 3, 4, 5}, 5);
    std::sort(all.begin(), all.end());
    CHECK(all == Indices{0, 1, 2, 3, 4});
  }
  CHECK(draw(rng, {0, 1, 0, 0, 0, 7}, 1, false, 2) == Indices{1, 2});
  CHECK(draw(rng, {0, 1, 0, 0, 0, 7}, 2, true, 2) == Indices{1, 1, 2, 2});
}

TEST_CASE("multinomial refuses what is not a distribution, without drawing") {
  Generator rng(1);
  const float inf = std::numeric_limits<float>::infinity(), nan = std::nanf("");
  CHECK_THROWS_WITH_AS(draw(rng, {1, -2}, 1),
                       "[multinomial] weights must be finite and >= 0, got -2 in row 0", Error);
  CHECK_THROWS_AS(draw(rng, {1, inf}, 1), Error);
  CHECK_THROWS_AS(draw(rng, {1, nan}, 1), Error);
  CHECK_THROWS_WITH_AS(draw(rng, {1, 1, 0, 0}, 1, false, 2),
                       "[multinomial] the weights of row 1 sum to 0, not to something positive", Error);
  CHECK_THROWS_WITH_AS(draw(rng, {1, 1}, 3), "[multinomial] cannot draw 3 of 2 without replacement", Error);
  CHECK_THROWS_AS(draw(rng, {1, 1}, 0), Error);
  CHECK_THROWS_AS(draw(rng, {1, 1, 1}, 1, false, 2), Error);
  CHECK_THROWS_AS(draw(rng, {}, 1), Error);
  CHECK(rng.state() == Generator(1).state());
}

TEST_CASE("trunc_normal stays in its bounds and keeps the shape of the normal inside") {
  Generator rng(6);
  std::vector<float> x(20000);
  trunc_normal(rng, x, 1, 2, 0, 4);
  CHECK(*std::min_element(x.begin(), x.end()) >= 0);
  CHECK(*std::max_element(x.begin(), x.end()) <= 4);
  // P(x < 1 | 0 <= x <= 4) = (F(0) - F(-0.5)) / (F(1.5) - F(-0.5)), with F(0.5) = 0.691462 and F(1.5) = 0.933193
  const auto below = std::count_if(x.begin(), x.end(), [](float v) { return v < 1; });
  CHECK(std::abs(static_cast<double>(below) / 20000 - 0.191462 / 0.624655) < 0.016);
}

TEST_CASE("erfinv inverts erf") {
  for (const double x : {-3.0, -1.0, -0.1, -1e-9, 0.0, 1e-300, 0.3, 0.9, 2.0, 3.5}) {
    CAPTURE(x);
    CHECK(std::abs(erfinv(std::erf(x)) - x) <= 1e-10 * std::max(1e-3, std::abs(x)));
  }
  const double near_one = 1 - 0x1p-53;  // the largest double below 1
  CHECK(std::erfc(erfinv(near_one)) == doctest::Approx(0x1p-53).epsilon(1e-12));
  CHECK(std::isinf(erfinv(1)));
  CHECK(erfinv(-1) < 0);
  CHECK(std::isnan(erfinv(1.5)));
  CHECK(std::isnan(erfinv(std::nan(""))));
}

TEST_CASE("parameters of distributions are validated") {
  Generator rng(1);
  std::vector<float> x(4);
  const std::vector<float> p = {0.1f, 0.2f, 0.3f, 1.5f};
  CHECK_THROWS_WITH_AS(bernoulli(rng, x, 1.5), "[bernoulli] p must be in [0, 1], got 1.5", Error);
  CHECK_THROWS_AS(bernoulli(rng, x, std::nan("")), Error);
  CHECK_THROWS_WITH_AS(bernoulli(rng, std::span<const float>(p), x),
                       "[bernoulli] p must be in [0, 1], got 1.5", Error);
  CHECK_THROWS_AS(bernoulli(rng, std::span<const float>(p).first(2), x), Error);
  CHECK_THROWS_WITH_AS(exponential(rng, x, 0), "[exponential] lambda must be > 0, got 0", Error);
  CHECK_THROWS_WITH_AS(trunc_normal(rng, x, 0, 0), "[trunc_normal] std must be > 0, got 0", Error);
  CHECK_THROWS_WITH_AS(trunc_normal(rng, x, 0, 1, 2, 1),
                       "[trunc_normal] bounds must satisfy a <= b, got 2 and 1", Error);
  CHECK(rng.state() == Generator(1).state());
}
