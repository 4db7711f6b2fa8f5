#include "models/tensor_summary.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <numeric>

namespace minigpt::test {
namespace {

TEST_CASE("summary: 3, 0, -4, 1 by hand") {
  const TensorSummary s = summarise(Tensor::from<float>({3, 0, -4, 1}, {2, 2}), 7);
  CHECK(s.norm == doctest::Approx(std::sqrt(26.0)));
  CHECK(s.rms() == doctest::Approx(std::sqrt(6.5)));
  CHECK(s.mean == 0);
  CHECK(s.std == doctest::Approx(std::sqrt(6.5)));
  CHECK(s.min == -4);
  CHECK(s.max == 3);
  CHECK(s.zeros == 0.25);
  CHECK(s.count == 4);
  // Bins of width 1 from -4: 0 begins the fifth, 3 lies in the last.
  CHECK(s.hist == std::vector<std::int64_t>{1, 0, 0, 0, 1, 1, 1});
}

TEST_CASE("summary: what is not finite is counted and left out") {
  const double inf = std::numeric_limits<double>::infinity();
  const TensorSummary s = summarise(Tensor::from<double>({1, inf, std::nan(""), 3}, {4}));
  CHECK(s.not_finite == 2);
  CHECK(s.mean == 2);
  CHECK(s.max == 3);
  CHECK(std::accumulate(s.hist.begin(), s.hist.end(), std::int64_t{0}) == 2);
  CHECK(summarise(Tensor::from<double>({inf}, {1})).norm == 0);
}

TEST_CASE("summary: equal elements lie in one bin, and have no spread however large they are") {
  const TensorSummary s = summarise(full({5}, 1e8, DType::f64), 4);
  CHECK(s.std == 0);
  CHECK(s.hist == std::vector<std::int64_t>{5, 0, 0, 0});
}

TEST_CASE("summary: a view is read as its own elements") {
  const Tensor x = Tensor::from<float>({1, 2, 3, 4}, {2, 2});
  CHECK(summarise(Tensor::view_of(x.storage(), 0, {2}, {2}, DType::f32)).max == 3);
}

}  // namespace
}  // namespace minigpt::test
