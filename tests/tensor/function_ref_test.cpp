#include "tensor/function_ref.h"

#include <doctest/doctest.h>

using minigpt::FunctionRef;

namespace {

int apply(FunctionRef<int(int)> fn, int x) { return fn(x); }

}  // namespace

TEST_CASE("FunctionRef calls lambdas and objects where they are") {
  int calls = 0;
  const auto counting = [&calls](int x) { return x + ++calls; };
  CHECK(apply(counting, 10) == 11);
  CHECK(apply(counting, 10) == 12);  // the same object, not a copy

  struct Stateful {
    int sum = 0;
    int operator()(int x) { return sum += x; }
  } object;
  apply(object, 3);
  CHECK(apply(object, 4) == 7);
  CHECK(object.sum == 7);
}
