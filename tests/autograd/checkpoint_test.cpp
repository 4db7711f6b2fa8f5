#include "autograd/checkpoint.h"

#include "autograd/ops/matmul.h"
#include "autograd/ops/sum.h"
#include "autograd/ops/tanh.h"
#include "tensor/arithmetic.h"
#include "tensor/storage.h"
#include "tests/autograd/gradient_testing.h"

namespace minigpt {
namespace {

// Two layers that use a parameter twice and another input not at all.
Variable layers(const Variable& x, const Variable& w) { return tanh(matmul(tanh(matmul(x, w)), w)); }

Variable with_checkpoint(const Variable& x, const Variable& w) {
  return checkpoint(x, {w}, [w](const Variable& in, bool) { return layers(in, w); });
}

TEST_CASE("checkpoint: value and gradients are those of the plain function, bit for bit") {
  const Variable w = leaf({3, 3}, -1, 1, 5);
  for (const bool x_wants_gradient : {true, false}) {
    Variable x(spread({2, 3}), x_wants_gradient);
    CHECK(values(with_checkpoint(x, w)) == values(layers(x, w)));
    CHECK(gradient_of(with_checkpoint(x, w), w) == gradient_of(layers(x, w), w));
    if (x_wants_gradient) CHECK(gradient_of(with_checkpoint(x, w), x) == gradient_of(layers(x, w), x));
  }
}

TEST_CASE("checkpoint: first and second derivatives, also of a chain of checkpoints") {
  const auto chain = [](const std::vector<Variable>& v) {
    return with_checkpoint(with_checkpoint(v[0], v[1]), v[1]);
  };
  check_gradients(chain, {leaf({2, 3}), leaf({3, 3}, -1, 1, 5)});
}

TEST_CASE("checkpoint: f runs twice, told which time it is, and without history the first time") {
  std::vector<bool> calls;
  std::vector<bool> recorded;
  const Variable x = leaf({4});
  const Variable y = checkpoint(x, {}, [&](const Variable& in, bool again) {
    calls.push_back(again);
    recorded.push_back(recording());
    return tanh(in);
  });
  CHECK(calls == std::vector<bool>{false});
  gradient_of(y, x);
  CHECK(calls == std::vector<bool>{false, true});
  CHECK(recorded == std::vector<bool>{false, true});
}

TEST_CASE("checkpoint: a parameter that f does not use gets no gradient, even if f uses constants alone") {
  const Variable constant(spread({2, 3})), unused = leaf({4});
  const Variable y = checkpoint(constant, {unused}, [](const Variable& in, bool) { return tanh(in); });
  CHECK(y.requires_grad());
  GradOptions options;
  options.gradients = {Variable(spread({2, 3}))};
  options.allow_unused = true;
  CHECK_FALSE(grad({y}, {unused}, options)[0].defined());
}

TEST_CASE("checkpoint: an input or a parameter that is changed in place before backward is an error (A-07)") {
  for (const bool parameter : {true, false}) {
    Variable x = leaf({2, 3}), w = leaf({3, 3}, -1, 1, 5);
    const Variable loss = sum(with_checkpoint(x, w));
    mul_((parameter ? w : x).mutable_value(), 0.5);
    CHECK_THROWS_WITH_AS(loss.backward(), doctest::Contains("[checkpoint] input"), Error);
    CHECK_FALSE(w.has_grad());
  }
}

TEST_CASE("checkpoint: nothing but the input is kept") {
  const Variable x = leaf({1000});
  const std::int64_t before = memory_stats().live_bytes;
  const auto many = [](const Variable& in, bool) {
    Variable y = in;
    for (int i = 0; i < 10; ++i) y = tanh(y);
    return y;
  };
  const Variable kept = checkpoint(x, {}, many);
  const std::int64_t with = memory_stats().live_bytes - before;
  const Variable all = many(x, false);
  const std::int64_t without = memory_stats().live_bytes - before - with;
  CHECK(with < 1000 * 8 * 2);     // the output
  CHECK(without > 1000 * 8 * 9);  // ten outputs
}

TEST_CASE("checkpoint: without recording it is a plain call") {
  const NoGrad no_grad;
  int calls = 0;
  const Variable x = leaf({4});
  const Variable y = checkpoint(x, {}, [&](const Variable& in, bool again) {
    ++calls;
    CHECK_FALSE(again);
    return tanh(in);
  });
  CHECK(calls == 1);
  CHECK_FALSE(y.requires_grad());
}

}  // namespace
}  // namespace minigpt
