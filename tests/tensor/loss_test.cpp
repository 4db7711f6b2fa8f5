#include "tensor/loss.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "tensor/views.h"
#include "tests/tensor/row_testing.h"

using namespace minigpt;
using namespace minigpt::testing;

namespace {

constexpr std::int32_t kIgnore = -1;

template <class T>
void check_classes(double tolerance) {
  for (const std::int64_t classes : row_lengths()) {
    CAPTURE(classes);
    const std::int64_t rows = 3;
    const Tensor logits = random_tensor<T>({rows, classes}, 1, 3), dloss = random_tensor<T>({rows}, 2);
    const Tensor targets = random_indices({rows}, static_cast<int>(classes), 3);
    const CrossEntropyOutput out = cross_entropy(logits, targets, kIgnore);
    const Tensor dlogits = cross_entropy_backward(logits, targets, out.log_sum_exp, dloss, kIgnore);
    for (std::int64_t i = 0; i < rows; ++i) {
      const std::vector<double> x = values(select(logits, 0, i));
      const std::size_t target = static_cast<std::size_t>(targets.at({i}));
      long double sum = 0;
      for (const double v : x) sum += std::exp(static_cast<long double>(v));
      const double loss = static_cast<double>(std::log(sum) - x[target]);
      CHECK(out.losses.at({i}) == doctest::Approx(loss).epsilon(tolerance));
      std::vector<double> gradient;
      for (std::size_t j = 0; j < x.size(); ++j)
        gradient.push_back(static_cast<double>(
            (std::exp(static_cast<long double>(x[j])) / sum - (j == target)) * dloss.at({i})));
      CHECK(worst_error(values(select(dlogits, 0, i)), gradient) < tolerance);
    }
  }
}

}  // namespace

TEST_CASE("cross_entropy and its gradient equal the plain formula for every number of classes") {
  for_each_kernel_set([] {
    check_classes<double>(1e-14);
    check_classes<float>(2e-6);
  });
}

TEST_CASE("uniform logits cost log V") {
  const CrossEntropyOutput out =
      cross_entropy(zeros({2, 65}, DType::f64), Tensor::from<std::int32_t>({0, 64}, {2}), kIgnore);
  for (const double loss : values(out.losses)) CHECK(loss == doctest::Approx(4.174387269895637));
  CHECK(out.counted == 2);
}

TEST_CASE("huge logits give exact losses and gradients") {
  for_each_kernel_set([] {
    const Tensor logits = Tensor::from<float>({0, 500, 1e8f, 1e8f, -1e20f, -1e20f}, {3, 2});
    const Tensor targets = Tensor::from<std::int32_t>({0, 1, 0}, {3});
    const CrossEntropyOutput out = cross_entropy(logits, targets, kIgnore);
    CHECK(out.losses.at({0}) == 500);
    CHECK(out.losses.at({1}) == doctest::Approx(0.69314718));
    CHECK(out.losses.at({2}) == doctest::Approx(0.69314718));
    const Tensor d = cross_entropy_backward(logits, targets, out.log_sum_exp, Tensor::scalar(1.0f), kIgnore);
    CHECK(worst_error(values(d), {-1, 1, 0.5, -0.5, -0.5, 0.5}) < 1e-6);
  });
}

TEST_CASE("ignored rows have loss and gradient exactly 0, whatever their logits hold") {
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  for_each_kernel_set([&] {
    for (const std::int32_t ignore : {-1, -100, 2, 1000}) {
      CAPTURE(ignore);
      const Tensor logits = Tensor::from<float>({nan, 0, 1, inf, inf, -inf, 1, 2, 3}, {3, 3});
      const Tensor targets = Tensor::from<std::int32_t>({ignore, ignore, 1}, {3});
      const CrossEntropyOutput out = cross_entropy(logits, targets, ignore);
      CHECK(out.counted == 1);
      CHECK(out.losses.at({0}) == 0);
      CHECK(out.losses.at({1}) == 0);
      CHECK(out.losses.at({2}) == doctest::Approx(1.40760596));
      const Tensor d = cross_entropy_backward(logits, targets, out.log_sum_exp, Tensor::scalar(0.5f), ignore);
      CHECK(values(slice(d, 0, 0, 2)) == std::vector<double>(6, 0.0));
      CHECK(worst_error(values(select(d, 0, 2)), {0.0450153, -0.3776358, 0.3326205}) < 1e-6);
    }
  });
}

TEST_CASE("NaN in a row that counts is not hidden") {
  const Tensor logits = Tensor::from<double>({0, std::nan(""), 1}, {1, 3});
  CHECK(std::isnan(cross_entropy(logits, Tensor::from<std::int32_t>({2}, {1}), kIgnore).losses.at({0})));
}

TEST_CASE("a target outside the classes is refused with value and position") {
  const Tensor logits = zeros({3, 10});
  for (const std::int32_t bad : {10, -4, std::numeric_limits<std::int32_t>::max()}) {
    const Tensor targets = Tensor::from<std::int32_t>({0, 9, bad}, {3});
    const std::string text =
        fmt::format("target {} at position 2 is outside [0, 10) and is not the ignored value -1", bad);
    CHECK_THROWS_WITH_AS(cross_entropy(logits, targets, kIgnore), ("[cross_entropy] " + text).c_str(), Error);
    CHECK_THROWS_WITH_AS(cross_entropy_backward(logits, targets, zeros({3, 2}), ones({3}), kIgnore),
                         ("[cross_entropy_backward] " + text).c_str(), Error);
  }
}

TEST_CASE("operands must fit each other") {
  const Tensor targets = zeros({6}, DType::i32);
  CHECK_THROWS_WITH_AS(cross_entropy(zeros({2, 3, 5}), targets, kIgnore),
                       "[cross_entropy] logits must be (N, V), got (2, 3, 5)", Error);
  CHECK_THROWS_WITH_AS(cross_entropy(zeros({3, 5}), targets, kIgnore),
                       "[cross_entropy] targets must be (3) for logits (3, 5), got (6)", Error);
  CHECK_THROWS_WITH_AS(cross_entropy(zeros({6, 5}), zeros({6}), kIgnore),
                       "[cross_entropy] targets must be int32, got float32", Error);
}

TEST_CASE("the number of threads does not change a bit") {
  const Tensor logits = random_tensor<float>({101, 65}, 4), dloss = random_tensor<float>({101}, 5);
  const Tensor targets = random_indices({101}, 65, 6);
  for_each_kernel_set([&] {
    check_threads_do_not_matter([&] {
      const CrossEntropyOutput out = cross_entropy(logits, targets, 7);
      return std::vector<Tensor>{out.losses, out.log_sum_exp,
                                 cross_entropy_backward(logits, targets, out.log_sum_exp, dloss, 7)};
    });
  });
}
