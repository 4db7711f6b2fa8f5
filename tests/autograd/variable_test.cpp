#include "autograd/variable.h"

#include "autograd/ops/mul.h"
#include "tests/autograd/gradient_testing.h"

namespace minigpt {
namespace {

TEST_CASE("a leaf is made by hand, an inner value by an operation") {
  const Variable x = leaf({3}), constant(spread({3}));
  CHECK(x.is_leaf());
  CHECK(x.requires_grad());
  CHECK_FALSE(constant.requires_grad());
  const Variable y = x * constant;
  CHECK_FALSE(y.is_leaf());
  CHECK(y.requires_grad());
  CHECK((constant * constant).is_leaf());  // nothing to record
}

TEST_CASE("only floating numbers have gradients") {
  CHECK_THROWS_WITH_AS(Variable(arange(3), true), doctest::Contains("not int32"), Error);
  CHECK_THROWS_WITH_AS(Variable(zeros({3}, DType::boolean), true), doctest::Contains("not bool"), Error);
  CHECK_THROWS_AS(Variable{Tensor()}, Error);
}

TEST_CASE("requires_grad can be switched on leaves only") {
  Variable x(spread({3}));
  x.set_requires_grad(true);
  Variable y = x * 2.0;
  CHECK_THROWS_WITH_AS(y.set_requires_grad(false), doctest::Contains("made by mul"), Error);
  x.set_requires_grad(false);
  CHECK_FALSE((x * 2.0).requires_grad());
}

TEST_CASE("copies refer to one variable; detach shares only the numbers") {
  Variable x = leaf({3});
  const Variable same = x;
  CHECK(same.is(x));
  x.set_grad(Variable(ones({3}, DType::f64)));
  CHECK(same.has_grad());
  const Variable other = x.detach();
  CHECK_FALSE(other.is(x));
  CHECK_FALSE(other.requires_grad());
  CHECK(other.value().storage() == x.value().storage());
}

TEST_CASE("set_grad refuses what does not fit") {
  Variable x = leaf({3});
  CHECK_THROWS_WITH_AS(x.set_grad(Variable(ones({4}, DType::f64))), doctest::Contains("(4)"), Error);
  CHECK_THROWS_WITH_AS(x.set_grad(Variable(ones({3}))), doctest::Contains("float32"), Error);
}

TEST_CASE("NoGrad records nothing while it lives, and nests") {
  const Variable x = leaf({3});
  {
    const NoGrad off;
    {
      const NoGrad again;
      CHECK_FALSE(recording());
    }
    CHECK_FALSE(recording());
    CHECK((x * x).is_leaf());
  }
  CHECK(recording());
  CHECK_FALSE((x * x).is_leaf());
}

TEST_CASE("an undefined variable says so") {
  const Variable nothing;
  CHECK_FALSE(nothing.defined());
  CHECK_THROWS_WITH_AS(nothing.value(), doctest::Contains("undefined"), Error);
  CHECK_THROWS_AS(nothing.requires_grad(), Error);
}

TEST_CASE("asking a constant for its gradient is an error") {
  CHECK_THROWS_WITH_AS(Variable(spread({3})).grad(), doctest::Contains("does not require"), Error);
}

}  // namespace
}  // namespace minigpt
