#include "autograd/ops/alias.h"

#include "tests/autograd/gradient_testing.h"

namespace minigpt {
namespace {

TEST_CASE("alias: the same numbers as a node of its own") {
  const Variable x = leaf({3});
  const Variable y = alias(x);
  CHECK(y.node() != nullptr);
  CHECK(y.value().storage() == x.value().storage());
  check_elementwise([](const Variable& v) { return alias(v); });
}

}  // namespace
}  // namespace minigpt
