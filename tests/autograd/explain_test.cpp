// Every cause is planted once, and must be found where it is.
#include "autograd/explain.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <span>
#include <vector>

#include "autograd/ops.h"
#include "tensor/compare.h"
#include "tensor/triangle.h"
#include "tests/autograd/op_testing.h"

namespace minigpt {
namespace {

using testing::leaf;

// The first cause, as "id at where".
std::string cause(const GradientExplanation& e) {
  return e.causes.empty() ? std::string("none") : e.causes[0].id + " at " + e.causes[0].where;
}

Variable named(const Shape& shape, int seed, const char* name) {
  Variable v = leaf(shape, seed);
  v.set_name(name);
  return v;
}

Variable constant(const Shape& shape, double value) { return Variable(full(shape, value, DType::f64)); }

TEST_CASE("why: an ordinary gradient has no cause, and a path to the loss") {
  const Variable w = named({3}, 1, "w");
  const GradientExplanation e = explain_gradient([&] { return sum(tanh(w * 2.0)); }, w);
  CHECK(e.state == GradientState::ordinary);
  CHECK(e.causes.empty());
  REQUIRE(e.path.size() == 3);
  CHECK(e.path[0].where == "mul");
  CHECK(e.path[2].where == "sum");
  CHECK(e.path[2].rms == 1);
  CHECK_FALSE(w.has_grad());  // looking leaves no trace
}

TEST_CASE(
    "V-06: why: missing, because the tensor wants none, is not used, was detached, or used without "
    "recording") {
  const Variable w = named({3}, 1, "w"), other = named({3}, 2, "other"), fixed(w.value());
  const auto why = [&](const std::function<Variable()>& loss, const Variable& target) {
    const GradientExplanation e = explain_gradient(loss, target);
    CHECK(e.state == GradientState::missing);
    return cause(e);
  };
  CHECK(why([&] { return sum(other * fixed); }, fixed).starts_with("no_grad at"));
  CHECK(why([&] { return sum(other * 2.0); }, w) == "not_on_path at w");
  CHECK(why([&] { return exp(w), sum(other * 2.0); }, w) == "not_on_path at w");
  CHECK(why([&] { return sum(exp(w).detach() * other); }, w) == "detached at mul");
  CHECK(why(
            [&] {
              Variable y;
              {
                const NoGrad quiet;
                y = exp(w);
              }
              return sum(y * other);
            },
            w) == "no_grad at exp");
}

TEST_CASE("why: zero behind a rectifier, a flat activation, a saturated softmax") {
  const Variable w = named({2, 3}, 1, "w");
  const auto why = [&](const std::function<Variable()>& loss) {
    const GradientExplanation e = explain_gradient(loss, w);
    CHECK(e.state == GradientState::zero);
    CHECK(e.zeros == 1);
    return cause(e);
  };
  CHECK(why([&] { return sum(relu(w - 100.0)); }) == "relu_inactive at relu");
  CHECK(why([&] { return sum(tanh(w + 1000.0)); }) == "activation_flat at tanh");
  CHECK(why([&] { return sum(softmax(w * 1e6) * constant({2, 3}, 2)); }) == "softmax_saturated at softmax");
}

TEST_CASE("why: hidden by a mask, dropped out, not selected") {
  const Variable w = named({4, 4}, 1, "w");
  const double inf = std::numeric_limits<double>::infinity();
  ExplainOptions one;
  one.index = Dims{0, 3};
  const auto scores = [&](const Tensor& hidden) {
    return [&w, hidden, inf] { return sum(softmax(masked_fill(w, hidden, -inf)) * leaf({4, 4}, 3)); };
  };
  GradientExplanation e = explain_gradient(scores(logical_not(tril_mask(4, 4))), w, one);
  CHECK(cause(e) == "masked_causal at masked_fill");
  CHECK(e.value == 0.0);
  const Tensor last_key = Tensor::from<bool>({false, false, false, true}, {1, 4});
  CHECK(cause(explain_gradient(scores(last_key), w, one)) == "masked_padding at masked_fill");
  one.index = Dims{3, 0};
  CHECK(explain_gradient(scores(last_key), w, one).state == GradientState::ordinary);

  // Neither the future nor whole keys.
  Tensor some = zeros({4, 4}, DType::boolean);
  some.mutable_data<bool>()[2 * 4 + 1] = true;
  one.index = Dims{2, 1};
  CHECK(cause(explain_gradient(scores(some), w, one)) == "masked at masked_fill");

  // Bit 0 of the mask: only the first element stays.
  const DropoutMask mask{Tensor::from<std::int32_t>({1}, {1}), 0.5};
  one.index = Dims{2, 2};
  CHECK(cause(explain_gradient([&] { return sum(dropout(w, mask)); }, w, one)) == "dropped_out at dropout");
  CHECK(cause(explain_gradient([&] { return sum(slice(w, 0, 0, 2)); }, w, one)) == "not_selected at slice");
}

TEST_CASE("why: a row that no index names, with its name") {
  const Variable table = named({5, 2}, 1, "wte.weight");
  const Tensor index = Tensor::from<std::int32_t>({0, 3, 3}, {3});
  ExplainOptions options;
  options.index = Dims{4, 1};
  options.row_name = [](std::int64_t row) {
    return "character '" + std::string(1, static_cast<char>('a' + row)) + "'";
  };
  const auto loss = [&] { return sum(tanh(embedding(table, index))); };
  const GradientExplanation e = explain_gradient(loss, table, options);
  CHECK(cause(e) == "row_not_in_batch at embedding");
  CHECK(e.causes[0].text.find("row 4 (character 'e')") != std::string::npos);
  CHECK(e.zeros == doctest::Approx(3.0 / 5));
  options.index = Dims{3, 1};
  CHECK(explain_gradient(loss, table, options).state == GradientState::ordinary);
}

TEST_CASE("why: weights downstream that are all zero, and activations that are") {
  const Variable x = leaf({4, 3}, 1), w1 = named({5, 3}, 2, "fc.weight");
  Variable w2(zeros({2, 5}, DType::f64), true);
  w2.set_name("proj.weight");
  const auto loss = [&] { return sum(linear(gelu(linear(x, w1)), w2) * leaf({4, 2}, 4)); };
  const GradientExplanation e = explain_gradient(loss, w1);
  CHECK(cause(e) == "zero_weight at linear");
  CHECK(e.causes[0].text.find("proj.weight") != std::string::npos);
  // The projection itself gets one.
  CHECK(explain_gradient(loss, w2).state == GradientState::ordinary);
  const Variable w3 = named({2, 5}, 5, "after.weight");
  CHECK(cause(explain_gradient([&] { return sum(linear(relu(linear(x, w1) - 100.0), w3)); }, w3)) ==
        "relu_inactive at linear");
}

TEST_CASE("why: multiplied by activations that are all zero") {
  const Variable x = leaf({4, 3}, 1), w = named({2, 3}, 2, "w");
  CHECK(cause(explain_gradient([&] { return sum(linear(x * 0.0, w)); }, w)) == "zero_input at linear");
}

TEST_CASE("why: one hidden unit that is never active, beside others that are") {
  const Variable x = leaf({4, 3}, 1), w1 = named({5, 3}, 2, "fc.weight"),
                 w2 = named({2, 5}, 3, "proj.weight");
  const Variable shift(Tensor::from<double>({0, -1000, 0, 0, 0}, {5}));
  const auto loss = [&] { return sum(tanh(linear(relu(linear(x, w1, shift)), w2))); };
  ExplainOptions one;
  one.index = Dims{1, 2};
  CHECK(cause(explain_gradient(loss, w1, one)) == "relu_inactive at relu");
}

TEST_CASE("why: parts that cancel") {
  const Variable w = named({3}, 1, "w");
  CHECK(cause(explain_gradient([&] { return sum(w * 2.0 - w * 2.0); }, w)).starts_with("cancellation at"));
}

TEST_CASE("why: too small for the type") {
  Variable w(ones({3}), true);
  const GradientExplanation e = explain_gradient([&] { return sum(w * 1e-30 * 1e-30); }, w);
  CHECK(e.state == GradientState::zero);
  CHECK(cause(e) == "underflow at mul");
}

TEST_CASE("why: a value that is not finite, at the first place, forward and backward") {
  const Variable w = named({3}, 1, "w");
  const GradientExplanation forward = explain_gradient([&] { return sum(log(w - 100.0) * 2.0); }, w);
  CHECK(forward.state == GradientState::not_finite);
  CHECK(cause(forward) == "not_finite at log");
  Variable zero(zeros({2}, DType::f64), true);
  zero.set_name("zero");
  // sqrt is 0 there, and its slope infinite.
  CHECK(cause(explain_gradient([&] { return sum(sqrt(zero)); }, zero)) == "not_finite at sqrt");
}

TEST_CASE("why: tiny and huge gradients name the operation that made them so") {
  const Variable a = named({3}, 1, "a"), b = named({3}, 2, "b"), c = named({3}, 3, "c");
  const auto loss = [&](double factor) { return [&a, &b, &c, factor] { return sum(a * factor + b + c); }; };
  const GradientExplanation tiny = explain_gradient(loss(1e-6), a);
  CHECK(tiny.state == GradientState::tiny);
  CHECK(cause(tiny) == "vanishing at mul");
  const GradientExplanation huge = explain_gradient(loss(1e6), a);
  CHECK(huge.state == GradientState::huge);
  CHECK(cause(huge) == "exploding at mul");
}

TEST_CASE("why: tiny is less than a hundredth of the usual size, huge more than a hundred times it") {
  const Variable a = named({3}, 1, "a"), b = named({3}, 2, "b"), c = named({3}, 3, "c");
  const auto state = [&](double factor) {
    return explain_gradient([&] { return sum(a * factor + b + c); }, a).state;
  };
  CHECK(state(0.009) == GradientState::tiny);
  CHECK(state(0.011) == GradientState::ordinary);
  CHECK(state(99) == GradientState::ordinary);
  CHECK(state(101) == GradientState::huge);
}

// The notes of an ordinary gradient, as "id at where".
std::string notes(const std::function<Variable()>& loss, const Variable& target) {
  const GradientExplanation e = explain_gradient(loss, target);
  CHECK(e.state == GradientState::ordinary);
  return cause(e);
}

TEST_CASE("why: an ordinary gradient notes where most of the values pass nothing on") {
  // x has no gradient; of its n values, `dead` are far below zero.
  const Variable w = named({20}, 1, "w");
  const auto values = [](int dead) {
    std::vector<double> v(20, 1);
    std::fill(v.begin(), v.begin() + dead, -10);
    return Variable(Tensor::from(std::span<const double>(v), {20}), true);
  };
  const auto through = [&](auto f, int dead) {
    const Variable x = values(dead);
    return notes([&] { return sum(f(x) * w) + sum(w); }, w);
  };
  const auto relu_of = [](const Variable& x) { return relu(x); };
  const auto gelu_of = [](const Variable& x) { return gelu(x); };
  CHECK(through(relu_of, 19) == "relu_inactive at relu");
  CHECK(through(relu_of, 18) == "none");  // nine tenths are not more than nine tenths
  CHECK(through(gelu_of, 19) == "activation_flat at gelu");
  CHECK(through(gelu_of, 18) == "none");
}

TEST_CASE("why: an ordinary gradient notes a softmax that has nearly decided") {
  const Variable w = named({4, 4}, 1, "w");
  const auto sharp = [&](int rows, double score = 9) {  // so many rows give one entry all but 4e-4
    Tensor scores = zeros({4, 4}, DType::f64);
    for (int i = 0; i < rows; ++i) scores.mutable_data<double>()[i * 4] = score;
    const Variable x(scores, true);
    return notes([&] { return sum(softmax(x) * w) + sum(w); }, w);
  };
  CHECK(sharp(3) == "softmax_saturated at softmax");
  CHECK(sharp(2) == "none");
  CHECK(sharp(0) == "none");
  CHECK(sharp(4, 6) == "none");  // 0.993
  // Causal rows: the first one can only be 1, and says nothing of the others.
  const Variable v = named({3, 3}, 2, "v");
  const double inf = std::numeric_limits<double>::infinity();
  const auto causal = [&](int rows) {
    Tensor scores = zeros({3, 3}, DType::f64);
    for (int i = 1; i <= rows; ++i) scores.mutable_data<double>()[i * 3] = 9;
    const Variable x(scores, true);
    return notes(
        [&] { return sum(softmax(masked_fill(x, logical_not(tril_mask(3, 3)), -inf)) * v) + sum(v); }, v);
  };
  CHECK(causal(0) == "none");
  CHECK(causal(1) == "none");
  CHECK(causal(2) == "softmax_saturated at softmax");
}

TEST_CASE("why: clipping is named with its factor") {
  const Variable w = named({3}, 1, "w");
  ExplainOptions options;
  options.clip = 0.25;
  const GradientExplanation e = explain_gradient([&] { return sum(w * w); }, w, options);
  CHECK(cause(e) == "clipped at w");
  CHECK(e.causes[0].text.find("0.25") != std::string::npos);
}

TEST_CASE("why: an index must fit, and the loss must be one number") {
  const Variable w = named({3}, 1, "w");
  ExplainOptions options;
  options.index = Dims{3};
  CHECK_THROWS_WITH_AS(explain_gradient([&] { return sum(w); }, w, options),
                       "[explain_gradient] index (3) is outside the shape (3) of w", Error);
  options.index = Dims{0, 0};
  CHECK_THROWS_AS(explain_gradient([&] { return sum(w); }, w, options), Error);
  CHECK_THROWS_AS(explain_gradient([&] { return w * 2.0; }, w), Error);
}

TEST_CASE("composition: fused operations record their steps, with the same values") {
  const Variable x = leaf({2, 3, 6}, 1), w1 = leaf({8, 6}, 2), w2 = leaf({6, 8}, 3);
  const Variable fused = mlp(x, w1, Variable(), w2, Variable(), Activation::gelu_erf);
  const ScopedComposition scope;
  const Variable steps = mlp(x, w1, Variable(), w2, Variable(), Activation::gelu_erf);
  CHECK(std::string(fused.node()->op) == "mlp");
  CHECK(std::string(steps.node()->op) == "linear");
  CHECK(testing::difference(fused.value(), steps.value()) < 1e-12);
}

}  // namespace
}  // namespace minigpt
