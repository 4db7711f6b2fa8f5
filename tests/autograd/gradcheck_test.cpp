#include "autograd/gradcheck.h"

#include <cmath>

#include "autograd/ops/add.h"
#include "autograd/ops/linear.h"
#include "autograd/ops/masked_fill.h"
#include "autograd/ops/mul.h"
#include "autograd/ops/sin.h"
#include "autograd/ops/sum.h"
#include "tensor/elementwise.h"
#include "tensor/matmul.h"
#include "tests/autograd/gradient_testing.h"

namespace minigpt {
namespace {

// y = x^2 whose backward forgets the factor 2 for one element.
Variable wrong_square(const Variable& x) {
  return record("wrong_square", mul(x.value(), x.value()), {x}, save(input(0)),
                [](const Saved& s, const Variable& dy) {
                  Tensor factor = full(dy.shape(), 2, dy.dtype());
                  factor.mutable_data<double>()[4] = 1;
                  return Grads{dy * s.input(0) * Variable(factor)};
                });
}

// y = x^3 with a right first derivative and a wrong second one: the recorded backward forgets that x depends
// on x.
Variable once_only_cube(const Variable& x) {
  return record("once_only_cube", mul(mul(x.value(), x.value()), x.value()), {x}, save(input(0)),
                [](const Saved& s, const Variable& dy) {
                  const Variable z = s.input(0).detach();
                  return Grads{dy * (z * z * 3.0)};
                });
}

TEST_CASE("gradcheck passes a correct function of several inputs") {
  const auto f = [](const std::vector<Variable>& in) { return sin(in[0]) * in[1] + in[2]; };
  const GradcheckResult r = gradcheck(f, {leaf({2, 3}), leaf({3}), Variable(spread({2, 1}))});
  CHECK_MESSAGE(r.ok, r.str());
  CHECK(r.checked == 9);  // the constant is not moved
  CHECK(r.str().rfind("gradcheck passed for 9 elements", 0) == 0);
}

TEST_CASE("gradcheck finds a wrong backward and says where (A-14)") {
  Variable x = leaf({2, 3}, 0.5, 2);
  x.set_name("weights");
  const GradcheckResult r = gradcheck([](const auto& in) { return wrong_square(in[0]); }, {x});
  CHECK_FALSE(r.ok);
  CHECK(r.input == 0);
  CHECK(r.element == 4);
  CHECK(r.numeric == doctest::Approx(2 * r.analytic));
  CHECK(r.str().rfind("gradcheck failed: input 0 (weights), element 4: analytic", 0) == 0);
}

TEST_CASE("gradcheck finds a gradient that is missing altogether") {
  const auto f = [](const std::vector<Variable>& in) { return in[0] * in[1].detach(); };
  const GradcheckResult r = gradcheck(f, {leaf({3}), leaf({3}, 0.5, 2)});
  CHECK_FALSE(r.ok);
  CHECK(r.input == 1);
  CHECK(r.analytic == 0);
  const auto constant = [](const std::vector<Variable>& in) { return Variable(in[0].value().clone()); };
  CHECK_FALSE(gradcheck(constant, {leaf({3})}).ok);
}

TEST_CASE("a gradient that is not a number does not pass") {
  const auto f = [](const std::vector<Variable>& in) {
    return record("nan", in[0].value(), {in[0]}, save(), [](const Saved&, const Variable& dy) {
      return Grads{Variable(full(dy.shape(), std::nan(""), dy.dtype()))};
    });
  };
  CHECK_FALSE(gradcheck(f, {leaf({3})}).ok);
}

TEST_CASE("gradgradcheck finds a wrong second derivative behind a right first one") {
  const auto f = [](const std::vector<Variable>& in) { return once_only_cube(in[0]); };
  CHECK(gradcheck(f, {leaf({3}, 0.5, 2)}).ok);
  CHECK_FALSE(gradgradcheck(f, {leaf({3}, 0.5, 2)}).ok);
}

TEST_CASE("inputs come back bit for bit, in any layout, also after an exception (A-14)") {
  Variable x = transposed_leaf({2, 3});
  const std::vector<double> before = values(x);
  const std::uint64_t version = x.value().version();
  CHECK(gradcheck([](const auto& in) { return in[0] * in[0]; }, {x}).ok);
  CHECK(values(x) == before);
  CHECK(x.value().version() == version);
  CHECK_FALSE(x.has_grad());
  int calls = 0;
  const auto throws = [&calls](const std::vector<Variable>& in) {
    if (++calls == 4) fail("test", "stop");
    return in[0] * 2.0;
  };
  CHECK_THROWS_AS(gradcheck(throws, {x}), Error);
  CHECK(values(x) == before);
}

TEST_CASE("parameters that are not passed through the argument are checked too") {
  const Variable w = leaf({3});
  const Variable x(spread({2, 3}));
  CHECK(gradcheck([&](const auto&) { return w * x; }, {w}).ok);
}

TEST_CASE("float32 is refused, unless asked for with tolerances that fit (A-14)") {
  const Variable x(spread({2, 3}).to(DType::f32), true);
  const auto f = [](const std::vector<Variable>& in) { return sin(in[0]); };
  CHECK_THROWS_WITH_AS(gradcheck(f, {x}), doctest::Contains("float32"), Error);
  const GradcheckResult r = gradcheck(f, {x}, GradcheckOptions::float32());
  CHECK_MESSAGE(r.ok, r.str());
  const auto wrong = [](const std::vector<Variable>& in) { return in[0] * in[0].detach(); };
  CHECK_FALSE(gradcheck(wrong, {x}, GradcheckOptions::float32()).ok);
}

TEST_CASE("a linear layer passes in either precision, and fails if its weight is used transposed (A-14)") {
  for (const DType dtype : {DType::f64, DType::f32}) {
    const Variable x(spread({4, 3}).to(dtype), true), w(spread({3, 3}, -1, 1, 20).to(dtype), true),
        b(spread({3}, -1, 1, 50).to(dtype), true);
    const GradcheckOptions options = dtype == DType::f32 ? GradcheckOptions::float32() : GradcheckOptions();
    const auto layer = [](const std::vector<Variable>& in) { return linear(in[0], in[1], in[2]); };
    const GradcheckResult r = gradcheck(layer, {x, w, b}, options);
    CHECK_MESSAGE(r.ok, r.str());
    CHECK(r.checked == 12 + 9 + 3);
    const auto wrong = [](const std::vector<Variable>& in) {
      return record("wrong_linear", matmul(in[0].value(), transpose(in[1].value())), {in[0], in[1]},
                    save(input(1)), [](const Saved& s, const Variable& dy) {
                      return Grads{Variable(matmul(dy.value(), transpose(s.input(1).value()))), Variable()};
                    });
    };
    CHECK_FALSE(gradcheck(wrong, {x, Variable(w.value())}, options).ok);
  }
}

TEST_CASE("dropout needs a fixed mask: random results are refused, a given mask passes (A-14)") {
  int calls = 0;
  const auto random = [&calls](const std::vector<Variable>& in) {
    return in[0] * static_cast<double>(++calls % 2);
  };
  CHECK_THROWS_WITH_AS(gradcheck(random, {leaf({3})}), doctest::Contains("different results"), Error);
  const Tensor dropped = Tensor::from<bool>({true, false, false}, {3});
  const auto fixed = [&](const std::vector<Variable>& in) { return masked_fill(in[0], dropped, 0) * 1.5; };
  check_gradients(fixed, {leaf({3})});
}

TEST_CASE("gradcheck refuses what it cannot check") {
  const auto f = [](const std::vector<Variable>& in) { return in[0] * 2.0; };
  CHECK_THROWS_WITH_AS(gradcheck(f, {Variable(spread({3}))}), doctest::Contains("none of the 1 inputs"),
                       Error);
  const Variable repeated(expand(spread({1, 3}), {2, 3}), true);
  CHECK_THROWS_WITH_AS(gradcheck(f, {repeated}), doctest::Contains("share memory along axis 0"), Error);
}

TEST_CASE("a sample of the elements") {
  GradcheckOptions options;
  options.max_elements_per_input = 5;
  const GradcheckResult r =
      gradcheck([](const auto& in) { return sum(in[0] * in[0]); }, {leaf({10, 10})}, options);
  CHECK(r.ok);
  CHECK(r.checked == 5);
}

TEST_CASE("a sample is spread over the whole tensor, and no larger than it") {
  GradcheckOptions options;
  options.max_elements_per_input = 5;
  // Wrong at one element only; elements 0, 20, 40, 60 and 80 are looked at.
  const auto wrong_at = [](std::int64_t element) {
    return [element](const std::vector<Variable>& in) {
      return record("wrong_at", in[0].value().clone(), {in[0]}, save(),
                    [element](const Saved&, const Variable& dy) {
                      Tensor dx = dy.value().clone();
                      dx.mutable_data<double>()[element] *= 2;
                      return Grads{Variable(dx)};
                    });
    };
  };
  for (const std::int64_t element : {0, 20, 40, 60, 80}) {
    const GradcheckResult r = gradcheck(wrong_at(element), {leaf({10, 10})}, options);
    CHECK_FALSE(r.ok);
    CHECK(r.element == element);
  }
  CHECK(gradcheck(wrong_at(99), {leaf({10, 10})}, options).ok);
  CHECK(gradcheck([](const auto& in) { return sin(in[0]); }, {leaf({3})}, options).checked == 3);
}

TEST_CASE("a result that is not a number is no result drawn at random") {
  const auto f = [](const std::vector<Variable>& in) { return in[0] * Variable(full({3}, NAN, DType::f64)); };
  GradcheckResult r;
  CHECK_NOTHROW(r = gradcheck(f, {leaf({3})}));
  CHECK_FALSE(r.ok);
}

}  // namespace
}  // namespace minigpt
