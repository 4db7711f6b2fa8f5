#include "autograd/ops/unsqueeze.h"

#include "autograd/ops/mul.h"
#include "tests/autograd/gradient_testing.h"

namespace minigpt {
namespace {

TEST_CASE("unsqueeze: a new axis of extent 1") {
  const Variable x = leaf({2, 3});
  CHECK(unsqueeze(x, 0).shape() == Shape{1, 2, 3});
  CHECK(unsqueeze(x, -1).shape() == Shape{2, 3, 1});
  for (int axis : {0, 1, 2, -1, -3})
    check_elementwise([axis](const Variable& v) { return unsqueeze(v * v, axis); });
}

}  // namespace
}  // namespace minigpt
