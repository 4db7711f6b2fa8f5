#include "autograd/ops/where.h"

#include "autograd/ops/add.h"
#include "tests/autograd/gradient_testing.h"

namespace minigpt {
namespace {

Tensor pattern() { return Tensor::from<bool>({true, false, true, false, false, true}, {2, 3}); }

TEST_CASE("where: each side gets the gradient of what was picked from it") {
  const Variable a(full({2, 3}, 1, DType::f64), true), b(full({2, 3}, 2, DType::f64), true);
  CHECK(values(where(pattern(), a, b)) == std::vector<double>{1, 2, 1, 2, 2, 1});
  CHECK(gradient_of(where(pattern(), a, b), a) == std::vector<double>{1, 0, 1, 0, 0, 1});
  CHECK(gradient_of(where(pattern(), a, b), b) == std::vector<double>{0, 1, 0, 1, 1, 0});
}

TEST_CASE("where: condition and operands broadcast") {
  const auto f = [](const std::vector<Variable>& in) { return where(pattern(), in[0], in[1]); };
  check_gradients(f, {leaf({2, 3}), leaf({2, 3}, -2, 2, 50)});
  check_gradients(f, {leaf({3}), leaf({2, 1}, -2, 2, 50)});
  check_gradients(f, {leaf({}), transposed_leaf({2, 3}, -2, 2, 50)});
  check_gradients(f, {leaf({4, 1, 3}), leaf({}, -2, 2, 50)});
}

TEST_CASE("where: gradients of operands that are broadcast in every way; shapes that do not fit (A-08)") {
  // The condition has the shape of the result, and picks every second element of it.
  check_broadcasting([](const Variable& p, const Variable& q) {
    const Variable both = p + q;  // throws with both shapes if they do not fit
    std::vector<std::int32_t> every_second(static_cast<std::size_t>(both.numel()));
    for (std::size_t i = 0; i < every_second.size(); i += 2) every_second[i] = 1;
    return where(Tensor::from<std::int32_t>(every_second, both.shape()).to(DType::boolean), p, q);
  });
  CHECK_THROWS_WITH_AS(where(pattern(), leaf({2, 3}), leaf({4})), doctest::Contains("(4)"), Error);
  const Variable x = leaf({2, 3});
  CHECK(gradient_of(where(pattern(), x, x), x) == std::vector<double>(6, 1.0));
}

TEST_CASE("where: what was not picked cannot spoil the gradient") {
  const Variable a(Tensor::from<double>({1, HUGE_VAL}, {2}), true),
      b(Tensor::from<double>({5, 6}, {2}), true);
  const Tensor first = Tensor::from<bool>({true, false}, {2});
  CHECK(values(where(first, a, b)) == std::vector<double>{1, 6});
  CHECK(gradient_of(where(first, a, b), a) == std::vector<double>{1, 0});
}

}  // namespace
}  // namespace minigpt
