#include "autograd/ops/where.h"

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

TEST_CASE("where: what was not picked cannot spoil the gradient") {
  const Variable a(Tensor::from<double>({1, HUGE_VAL}, {2}), true),
      b(Tensor::from<double>({5, 6}, {2}), true);
  const Tensor first = Tensor::from<bool>({true, false}, {2});
  CHECK(values(where(first, a, b)) == std::vector<double>{1, 6});
  CHECK(gradient_of(where(first, a, b), a) == std::vector<double>{1, 0});
}

}  // namespace
}  // namespace minigpt
