#include "tensor/rows.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tensor/views.h"
#include "tests/tensor/row_testing.h"

using namespace minigpt;
using namespace minigpt::testing;

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// The formulas, one row at a time, in long double.
std::vector<double> plain_softmax(const std::vector<double>& x, std::size_t n, bool logarithm) {
  std::vector<double> y(x.size());
  for (std::size_t row = 0; row < x.size(); row += n) {
    const long double top = *std::max_element(&x[row], &x[row] + n);
    long double sum = 0;
    for (std::size_t i = row; i < row + n; ++i) sum += std::exp(x[i] - top);
    for (std::size_t i = row; i < row + n; ++i) {
      const long double y_i = logarithm ? x[i] - top - std::log(sum) : std::exp(x[i] - top) / sum;
      y[i] = static_cast<double>(y_i);
    }
  }
  return y;
}

std::vector<double> plain_backward(const std::vector<double>& y, const std::vector<double>& dy, std::size_t n,
                                   bool logarithm) {
  std::vector<double> dx(y.size());
  for (std::size_t row = 0; row < y.size(); row += n) {
    long double sum = 0;
    for (std::size_t i = row; i < row + n; ++i)
      sum += logarithm ? dy[i] : static_cast<long double>(dy[i]) * y[i];
    for (std::size_t i = row; i < row + n; ++i) {
      const long double dx_i =
          logarithm ? dy[i] - std::exp(static_cast<long double>(y[i])) * sum : y[i] * (dy[i] - sum);
      dx[i] = static_cast<double>(dx_i);
    }
  }
  return dx;
}

// Every length against the plain loops.
template <class T>
void check_lengths(double tolerance) {
  for (const std::int64_t n : row_lengths()) {
    CAPTURE(n);
    const std::size_t size = static_cast<std::size_t>(n);
    const Tensor x = random_tensor<T>({3, n}, 1, 3), dy = random_tensor<T>({3, n}, 2);
    const Tensor y = softmax(x), log_y = log_softmax(x);
    const std::vector<double> expected = plain_softmax(values(x), size, false), actual = values(y);
    for (std::size_t i = 0; i < actual.size(); ++i)
      CHECK(std::abs(actual[i] - expected[i]) <= tolerance * expected[i]);
    CHECK(worst_error(values(log_y), plain_softmax(values(x), size, true)) < tolerance);
    CHECK(worst_error(values(softmax_backward(y, dy)), plain_backward(actual, values(dy), size, false)) <
          tolerance);
    CHECK(worst_error(values(log_softmax_backward(log_y, dy)),
                      plain_backward(values(log_y), values(dy), size, true)) < 10 * tolerance);
    for (std::size_t row = 0; row < 3; ++row) {
      double sum = 0;
      for (std::size_t i = 0; i < size; ++i) sum += actual[row * size + i];
      CHECK(sum == doctest::Approx(1).epsilon(1e-6));
    }
  }
}

}  // namespace

TEST_CASE("softmax and log_softmax equal the plain formula for every row length") {
  for_each_kernel_set([] {
    check_lengths<double>(1e-14);
    check_lengths<float>(2e-6);
  });
}

TEST_CASE("huge logits neither overflow nor lose digits") {
  for_each_kernel_set([] {
    for (const float big : {1e8f, 1e20f, -1e20f}) {
      CAPTURE(big);
      for (const double y : values(log_softmax(Tensor::from<float>({big, big}, {2}))))
        CHECK(y == doctest::Approx(-0.69314718).epsilon(1e-7));
    }
    CHECK(values(softmax(Tensor::from<float>({1e30f, 0, -1e30f}, {3}))) == std::vector<double>{1, 0, 0});
    CHECK(values(log_softmax(Tensor::from<double>({1000, 0}, {2}))) == std::vector<double>{0, -1000});
  });
}

TEST_CASE("a fully masked row gives zero weights and no gradient, other rows are untouched") {
  for_each_kernel_set([] {
    const Tensor x = Tensor::from<double>({1, 2, 3, -kInf, -kInf, -kInf, -kInf, 0, -kInf}, {3, 3});
    const Tensor y = softmax(x), dy = random_tensor<double>({3, 3}, 3);
    CHECK(values(select(y, 0, 1)) == std::vector<double>{0, 0, 0});
    CHECK(values(select(y, 0, 2)) == std::vector<double>{0, 1, 0});
    CHECK(bitwise_equal(select(y, 0, 0), softmax(Tensor::from<double>({1, 2, 3}, {3}))));
    CHECK(values(select(softmax_backward(y, dy), 0, 1)) == std::vector<double>{0, 0, 0});

    const Tensor log_y = log_softmax(x);
    CHECK(values(select(log_y, 0, 1)) == std::vector<double>{-kInf, -kInf, -kInf});
    CHECK(values(select(log_y, 0, 2)) == std::vector<double>{-kInf, 0, -kInf});
    CHECK(values(select(log_softmax_backward(log_y, dy), 0, 1)) == std::vector<double>{0, 0, 0});
  });
}

TEST_CASE("NaN and +infinity are not hidden: the whole row becomes NaN, wherever they stand") {
  for_each_kernel_set([] {
    for (const double bad : {kNaN, kInf})
      for (const double rest : {0.5, -kInf})
        for (std::int64_t n : {1, 2, 9, 40})
          for (std::int64_t at = 0; at < n; ++at) {
            Tensor x = full({2, n}, rest, DType::f64);
            select(x, 1, at).fill_(bad);
            for (const double y : values(softmax(x))) CHECK(std::isnan(y));
            // log_softmax({inf, 0}) is {NaN, -inf}: log 0 is right where exp(0 - inf) is.
            CHECK(std::isnan(log_softmax(x).at({0, at})));
          }
  });
}

TEST_CASE("layout and number of threads do not matter") {
  const Tensor x = random_tensor<float>({13, 7, 33}, 4), dy = random_tensor<float>({13, 7, 33}, 5);
  const Tensor turned = transpose(transpose(x, 0, 2).contiguous(), 0, 2);  // same numbers, other strides
  REQUIRE(!turned.is_contiguous());
  CHECK(bitwise_equal(softmax(turned), softmax(x)));
  for_each_kernel_set([&] {
    check_threads_do_not_matter([&] {
      const Tensor y = softmax(x), log_y = log_softmax(x);
      return std::vector<Tensor>{y, log_y, softmax_backward(y, dy), log_softmax_backward(log_y, dy)};
    });
  });
}

TEST_CASE("empty tensors are legal") {
  CHECK(softmax(zeros({0, 5})).shape() == Shape{0, 5});
  CHECK(softmax(zeros({5, 0})).shape() == Shape{5, 0});
  CHECK(log_softmax_backward(zeros({5, 0}), zeros({5, 0})).numel() == 0);
}

TEST_CASE("unusable operands are refused") {
  CHECK_THROWS_WITH_AS(softmax(Tensor::scalar(1.0f)), "[softmax] needs at least one dimension, got shape ()",
                       Error);
  CHECK_THROWS_WITH_AS(softmax(arange(3)), "[softmax] needs float32 or float64, got int32", Error);
  CHECK_THROWS_WITH_AS(softmax_backward(zeros({2, 3}), zeros({2, 4})),
                       "[softmax_backward] shapes of y and dy differ: (2, 3) and (2, 4)", Error);
  CHECK_THROWS_WITH_AS(softmax_backward(zeros({2}), zeros({2}, DType::f64)),
                       "[softmax_backward] types of y and dy differ: float32 and float64", Error);
}
