#include "autograd/ops/reshape.h"

#include "autograd/ops/mul.h"
#include "tests/autograd/gradient_testing.h"

namespace minigpt {
namespace {

TEST_CASE("reshape: row-major order under another shape") {
  const Variable x(transpose(Tensor::from<double>({1, 2, 3, 4, 5, 6}, {2, 3})),
                   true);  // (3, 2), not contiguous
  CHECK(reshape(x, {2, -1}).shape() == Shape{2, 3});
  CHECK(values(reshape(x, {6})) == std::vector<double>{1, 4, 2, 5, 3, 6});
  CHECK(gradient_of(reshape(x, {6}), x, Tensor::from<double>({1, 2, 3, 4, 5, 6}, {6})) ==
        std::vector<double>{1, 2, 3, 4, 5, 6});
  for (const Shape& to : {Shape{6}, Shape{3, 2}, Shape{1, 6, 1}, Shape{2, 3}}) {
    CAPTURE(to.str());
    check_elementwise([&to](const Variable& v) { return reshape(v * v, to) * 2.0; });
    check_elementwise([&to](const Variable& v) { return reshape(v, to); });
  }
  check_gradients([](const auto& in) { return reshape(in[0], {}); }, {leaf({1, 1})});
  CHECK_THROWS_WITH_AS(reshape(x, {4}), doctest::Contains("6 elements into 4"), Error);
}

TEST_CASE("view: shares the numbers, or says that reshape is needed") {
  const Variable x = leaf({2, 3});
  CHECK(view(x, {3, 2}).value().storage() == x.value().storage());
  check_gradients([](const auto& in) { return view(in[0], {3, -1}) * view(in[0], {3, -1}); }, {x});
  CHECK_THROWS_WITH_AS(view(transposed_leaf({2, 3}), {6}), doctest::Contains("use reshape"), Error);
}

TEST_CASE("flatten: merges a range of axes") {
  const Variable x = leaf({2, 3, 2});
  CHECK(flatten(x).shape() == Shape{12});
  CHECK(flatten(x, 0, 1).shape() == Shape{6, 2});
  check_gradients([](const auto& in) { return flatten(in[0] * in[0], 1); }, {transposed_leaf({2, 3, 2})});
  check_gradients([](const auto& in) { return flatten(in[0]); }, {leaf({})});
}

}  // namespace
}  // namespace minigpt
