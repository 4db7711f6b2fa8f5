#include "tensor/triangle.h"

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>

#include "tensor/views.h"
#include "tests/tensor/row_testing.h"

using namespace minigpt;
using namespace minigpt::testing;

TEST_CASE("the causal mask lets a query see the keys up to its own position") {
  CHECK(values(tril_mask(3, 3)) == std::vector<double>{1, 0, 0, 1, 1, 0, 1, 1, 1});
  CHECK(tril_mask(3, 3).dtype() == DType::boolean);
  // Two queries behind one cached key.
  CHECK(values(tril_mask(2, 3, 1)) == std::vector<double>{1, 1, 0, 1, 1, 1});
}

TEST_CASE("tril and triu keep their side of any diagonal, in every matrix of a batch") {
  const Tensor x = random_tensor<float>({2, 3, 4, 5}, 1);
  for (std::int64_t k = -7; k <= 7; ++k) {
    const Tensor low = tril(x, k), high = triu(x, k);
    for (int b = 0; b < 2; ++b)
      for (int c = 0; c < 3; ++c)
        for (int i = 0; i < 4; ++i)
          for (int j = 0; j < 5; ++j) {
            CHECK(low.at({b, c, i, j}) == (j <= i + k ? x.at({b, c, i, j}) : 0));
            CHECK(high.at({b, c, i, j}) == (j >= i + k ? x.at({b, c, i, j}) : 0));
          }
  }
}

TEST_CASE("what is cut off becomes 0 even where it was NaN, and diagonals may be as far away as they like") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK(values(tril(Tensor::from<double>({1, nan, 2, 3}, {2, 2}))) == std::vector<double>{1, 0, 2, 3});
  const Tensor x = ones({2, 2});
  for (const std::int64_t far :
       {std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::min()}) {
    CHECK(values(tril(x, far)) == std::vector<double>(4, far > 0 ? 1 : 0));
    CHECK(values(triu(x, far)) == std::vector<double>(4, far > 0 ? 0 : 1));
  }
}

TEST_CASE("layout and threads do not matter; empty matrices are legal") {
  const Tensor x = random_tensor<float>({6, 5, 4}, 2);
  CHECK(bitwise_equal(tril(transpose(x)), tril(transpose(x).contiguous())));
  check_threads_do_not_matter([&] { return std::vector<Tensor>{tril(x), triu(x, 1)}; });
  CHECK(tril(zeros({3, 0})).shape() == Shape{3, 0});
}

TEST_CASE("fewer than two dimensions are refused") {
  CHECK_THROWS_WITH_AS(tril(zeros({3})), "[tril] needs at least two dimensions, got (3)", Error);
  CHECK_THROWS_WITH_AS(triu(zeros({3})), "[triu] needs at least two dimensions, got (3)", Error);
}
