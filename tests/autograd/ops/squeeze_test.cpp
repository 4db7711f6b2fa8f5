#include "autograd/ops/squeeze.h"

#include "autograd/ops/mul.h"
#include "tests/autograd/gradient_testing.h"

namespace minigpt {
namespace {

TEST_CASE("squeeze: drops one axis of extent 1, or all of them") {
  const Variable x = leaf({1, 3, 1});
  CHECK(squeeze(x).shape() == Shape{3});
  CHECK(squeeze(x, 0).shape() == Shape{3, 1});
  CHECK(squeeze(x, 1).shape() == Shape{1, 3, 1});
  check_gradients([](const auto& in) { return squeeze(in[0] * in[0]); }, {x});
  for (int axis : {0, 1, -1})
    check_gradients([axis](const auto& in) { return squeeze(in[0] * in[0], axis); }, {x});
}

}  // namespace
}  // namespace minigpt
