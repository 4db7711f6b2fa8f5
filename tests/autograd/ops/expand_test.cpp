#include "autograd/ops/expand.h"

#include "tests/autograd/gradient_testing.h"

namespace minigpt {
namespace {

TEST_CASE("expand: repeated values, summed gradients") {
  const Variable x(Tensor::from<double>({1, 2}, {2, 1}), true);
  CHECK(values(expand(x, {2, 3})) == std::vector<double>{1, 1, 1, 2, 2, 2});
  CHECK(gradient_of(expand(x, {2, 3}), x) == std::vector<double>{3, 3});
  for (const Shape& to : {Shape{2, 3}, Shape{4, 2, 3}, Shape{4, -1, 5}}) {
    CAPTURE(to.str());
    check_gradients([&to](const auto& in) { return expand(in[0], to); }, {leaf({2, 1})});
  }
}

}  // namespace
}  // namespace minigpt
