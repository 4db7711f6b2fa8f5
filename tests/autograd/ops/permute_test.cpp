#include "autograd/ops/permute.h"

#include "autograd/ops/mul.h"
#include "tests/autograd/gradient_testing.h"

namespace minigpt {
namespace {

TEST_CASE("permute: every order of three axes has its inverse as gradient") {
  const Variable x = leaf({2, 3, 4});
  CHECK(permute(x, {2, 0, 1}).shape() == Shape{4, 2, 3});
  CHECK(permute(x, {2, 0, 1}).value().at({3, 1, 2}) == x.value().at({1, 2, 3}));
  for (const Dims& order : {Dims{0, 1, 2}, Dims{0, 2, 1}, Dims{1, 0, 2}, Dims{1, 2, 0}, Dims{2, 0, 1},
                            Dims{2, 1, 0}, Dims{-1, 0, -2}}) {
    CAPTURE(order.str());
    check_gradients([&order](const auto& in) { return permute(in[0] * in[0], order); }, {leaf({2, 3, 2})});
  }
}

}  // namespace
}  // namespace minigpt
