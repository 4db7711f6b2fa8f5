#include "autograd/ops/split.h"

#include "autograd/ops/add.h"
#include "autograd/ops/mul.h"
#include "tests/autograd/gradient_testing.h"

namespace minigpt {
namespace {

TEST_CASE("split: consecutive pieces, each sending its gradient to its own part") {
  const Variable x(Tensor::from<double>({1, 2, 3, 4, 5}, {5}), true);
  const std::vector<Variable> pieces = split(x, 2);
  REQUIRE(pieces.size() == 3);
  CHECK(values(pieces[0]) == std::vector<double>{1, 2});
  CHECK(values(pieces[2]) == std::vector<double>{5});
  CHECK(gradient_of(pieces[0] * pieces[1], x) == std::vector<double>{3, 4, 1, 2, 0});
}

TEST_CASE("split: by size and by sizes, along any axis") {
  // All pieces take part, each with another weight.
  const auto weigh = [](const std::vector<Variable>& pieces) {
    Variable out = pieces[0] * pieces[0];
    for (std::size_t i = 1; i < pieces.size(); ++i)
      out = out + pieces[i] * pieces[i] * static_cast<double>(i + 1);
    return out;
  };
  check_elementwise([&](const Variable& v) { return weigh(split(v, 1, 0)); });
  check_elementwise([&](const Variable& v) { return weigh(split(v, 1, -1)); });
  const std::vector<std::int64_t> sizes = {2, 1};
  check_elementwise([&](const Variable& v) { return split(v * v, sizes, 1)[1]; });
  CHECK_THROWS_WITH_AS(split(leaf({2, 3}), std::vector<std::int64_t>{2, 2}, 1),
                       doctest::Contains("add up to 4"), Error);
}

}  // namespace
}  // namespace minigpt
