#include "autograd/ops/cross_entropy.h"

#include <limits>

#include "tests/autograd/op_testing.h"

namespace minigpt {
namespace {

using namespace testing;

constexpr Reduction kReductions[] = {Reduction::mean, Reduction::sum, Reduction::none};

Tensor classes(std::initializer_list<std::int32_t> values) {
  return Tensor::from<std::int32_t>(values, {static_cast<std::int64_t>(values.size())});
}
Op loss(const Tensor& targets, Reduction reduction, int ignore_index = -100) {
  return
      [=](const std::vector<Variable>& v) { return cross_entropy(v[0], targets, reduction, ignore_index); };
}

TEST_CASE("cross_entropy: without knowledge the loss is log(V), and the gradient pulls towards the target") {
  const Variable x(zeros({1, 4}, DType::f64), true);
  const Variable y = cross_entropy(x, classes({2}));
  CHECK(y.item() == doctest::Approx(std::log(4.0)));
  y.backward();
  CHECK(difference(x.grad().value(), Tensor::from<double>({0.25, 0.25, -0.75, 0.25}, {1, 4})) < 1e-15);
}

TEST_CASE("cross_entropy: derivatives, and agreement with its composition, for every reduction") {
  const Tensor targets = classes({0, 4, 2, 2, -1});
  for (Reduction reduction : kReductions) {
    CAPTURE(static_cast<int>(reduction));
    const Variable x = leaf({5, 6}, 1);
    const Op fused = loss(targets, reduction, -1);
    check_derivatives(fused, {x});
    check_layouts(fused, {x});
    check_agree(
        fused,
        [&](const std::vector<Variable>& v) { return cross_entropy_composed(v[0], targets, reduction, -1); },
        {x});
  }
}

TEST_CASE("cross_entropy: mean divides by the targets that were kept") {
  const Variable x = leaf({4, 3}, 1);
  const Tensor targets = classes({1, -1, 0, -1});
  const double total = cross_entropy(x, targets, Reduction::sum, -1).item();
  CHECK(cross_entropy(x, targets, Reduction::mean, -1).item() == doctest::Approx(total / 2));
}

TEST_CASE("cross_entropy: large logits (N-01)") {
  const Variable x(Tensor::from<double>({0, 500}, {1, 2}), true);
  const Outcome o = outcome(loss(classes({0}), Reduction::mean), {x}, ones({}, DType::f64));
  CHECK(o.value.item() == 500);
  CHECK(difference(o.gradients[0], Tensor::from<double>({-1, 1}, {1, 2})) < 1e-15);
  const Variable huge(Tensor::from<float>({1e20F, 1e20F}, {1, 2}), true);
  CHECK(cross_entropy(huge, classes({1})).item() == doctest::Approx(std::log(2.0)));
}

TEST_CASE("cross_entropy: ignored rows give exactly 0, whatever their logits hold (N-04)") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Variable x(Tensor::from<double>({nan, INFINITY, 1, 2, -INFINITY, nan}, {3, 2}), true);
  for (bool create_graph : {false, true}) {
    const Outcome o =
        outcome(loss(classes({-1, 1, -1}), Reduction::none, -1), {x}, ones({3}, DType::f64), create_graph);
    CHECK(o.value.at({0}) == 0);
    CHECK(o.value.at({1}) == doctest::Approx(std::log1p(std::exp(-1.0))));
    CHECK(o.value.at({2}) == 0);
    for (int row : {0, 2})
      for (int column : {0, 1}) CHECK(o.gradients[0].at({row, column}) == 0);
    CHECK(all_finite(o.gradients[0]));
  }
}

TEST_CASE("cross_entropy: a mean over nothing is NaN, as in PyTorch, and its gradient 0") {
  const Variable x = leaf({2, 3}, 1);
  const Tensor targets = classes({-100, -100});
  for (bool create_graph : {false, true}) {
    const Outcome o = outcome(loss(targets, Reduction::mean), {x}, ones({}, DType::f64), create_graph);
    CHECK(std::isnan(o.value.item()));
    CHECK(difference(o.gradients[0], zeros({2, 3}, DType::f64)) == 0);
  }
  CHECK(cross_entropy(x, targets, Reduction::sum).item() == 0);
}

TEST_CASE("cross_entropy: a target outside the classes is named with its position (D-07, N-04)") {
  const Variable x = leaf({3, 10}, 1);
  for (Reduction reduction : kReductions) {
    for (std::int32_t bad :
         {-4, 10, std::numeric_limits<std::int32_t>::min(), std::numeric_limits<std::int32_t>::max()}) {
      const std::string reason = "target " + std::to_string(bad) +
                                 " at position 1 is outside [0, 10) and is not the ignored value -1";
      CHECK_THROWS_WITH_AS(cross_entropy(x, classes({0, bad, 9}), reduction, -1),
                           doctest::Contains(reason.c_str()), Error);
    }
  }
}

TEST_CASE("cross_entropy: nothing is broadcast or flattened behind the caller's back (O-05)") {
  CHECK_THROWS_AS(cross_entropy(leaf({2, 3, 4}, 1), classes({0, 1, 2, 3, 0, 1})),
                  Error);  // (B, T, V) and (B*T)
  CHECK_THROWS_AS(cross_entropy(leaf({3, 4}, 1), reshape(classes({0, 1, 2}), {3, 1})), Error);
  CHECK_THROWS_AS(cross_entropy(leaf({3, 4}, 1), classes({0})), Error);
  CHECK_THROWS_AS(cross_entropy(leaf({3, 4}, 1), zeros({3}, DType::f64)), Error);
}

}  // namespace
}  // namespace minigpt
