#include "models/statistics.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "tensor/error.h"
#include "tensor/views.h"

namespace minigpt {
namespace {

TEST_CASE("statistics: norm, mean, deviation, extremes, zeros and histogram of a few numbers") {
  // Mean 1, deviations -1 -1 1 1 0 0: variance 4/6.
  const Statistics s = statistics(Tensor::from<float>({0, 0, 2, 2, 1, 1}, {2, 3}), 4);
  CHECK(s.norm == doctest::Approx(std::sqrt(10.0)));
  CHECK(s.mean == doctest::Approx(1));
  CHECK(s.std == doctest::Approx(std::sqrt(4.0 / 6)));
  CHECK(s.min == 0);
  CHECK(s.max == 2);
  CHECK(s.zeros == doctest::Approx(1.0 / 3));
  // Bins [0, 0.5), [0.5, 1), [1, 1.5), [1.5, 2]: the largest value belongs to the last.
  CHECK(s.histogram == std::vector<std::int64_t>{2, 0, 2, 2});
}

TEST_CASE("statistics: a narrow distribution far from zero keeps its deviation") {
  const Statistics s = statistics(Tensor::from<double>({1e9, 1e9 + 1, 1e9 + 2}, {3}));
  CHECK(s.std == doctest::Approx(std::sqrt(2.0 / 3)));
}

TEST_CASE("statistics: values that are not finite are counted and left out") {
  const double inf = std::numeric_limits<double>::infinity();
  const Statistics s = statistics(Tensor::from<double>({1, inf, 3, std::nan("")}, {4}), 2);
  CHECK(s.not_finite == 2);
  CHECK(s.mean == 2);
  CHECK(s.max == 3);
  CHECK(s.histogram == std::vector<std::int64_t>{1, 1});
  CHECK(s.norm == doctest::Approx(std::sqrt(10.0)));
  CHECK(s.rms() == doctest::Approx(std::sqrt(5.0)));
  CHECK(s.count == 4);
  CHECK(s.std == doctest::Approx(1));
  CHECK(statistics(Tensor::from<double>({0, inf, 3, std::nan("")}, {4})).zeros == 0.25);  // of all elements
  CHECK(statistics(Tensor::from<double>({inf}, {1})).norm == 0);
}

TEST_CASE("statistics: nothing, equal values, views, and other types") {
  CHECK(statistics(zeros({0, 3}), 2).histogram == std::vector<std::int64_t>{0, 0});
  CHECK(statistics(full({5}, 7.0), 3).histogram == std::vector<std::int64_t>{5, 0, 0});
  const Tensor x = Tensor::from<float>({1, 2, 3, 4}, {2, 2});
  CHECK(statistics(select(x, 1, 1)).mean == 3);  // 2 and 4
  CHECK_THROWS_AS(statistics(Tensor::from<std::int32_t>({1}, {1})), Error);
  CHECK_THROWS_AS(statistics(x, -1), Error);
}

}  // namespace
}  // namespace minigpt
