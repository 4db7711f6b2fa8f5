#include "autograd/ops/relu.h"

#include "autograd/ops/mul.h"
#include "tests/autograd/gradient_testing.h"

namespace minigpt {
namespace {

TEST_CASE("relu: passes what is positive; gradient 0 at the kink") {
  const Variable x(Tensor::from<double>({-1, 0, 2}, {3}), true);
  CHECK(values(relu(x)) == std::vector<double>{0, 0, 2});
  CHECK(gradient_of(relu(x), x) == std::vector<double>{0, 0, 1});
}

TEST_CASE("relu: gradients away from the kink") {
  check_elementwise([](const Variable& x) { return relu(x); });
  check_elementwise([](const Variable& x) { return relu(x) * relu(x); });  // with a second derivative
}

}  // namespace
}  // namespace minigpt
