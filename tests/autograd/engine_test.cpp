#include "autograd/engine.h"

#include "autograd/ops/add.h"
#include "autograd/ops/div.h"
#include "autograd/ops/exp.h"
#include "autograd/ops/mul.h"
#include "autograd/ops/pow.h"
#include "autograd/ops/reshape.h"
#include "autograd/ops/sum.h"
#include "autograd/ops/tanh.h"
#include "tensor/elementwise.h"
#include "tests/autograd/gradient_testing.h"

namespace minigpt {
namespace {

Variable scalar(double value) { return Variable(Tensor::scalar(value), true); }

BackwardOptions retaining() {
  BackwardOptions options;
  options.retain_graph = true;
  return options;
}

GradOptions creating() {
  GradOptions options;
  options.create_graph = true;
  return options;
}

// y = x, counting how often its backward runs.
Variable counted(const Variable& x, int* runs) {
  return record("counted", x.value(), {x}, save(), [runs](const Saved&, const Variable& dy) {
    ++*runs;
    return Grads{dy};
  });
}

// --- Gradients add up over paths ---------------------------------------------------------------------------

TEST_CASE("a value used on several paths gets the sum of their gradients (A-01)") {
  const Variable x = scalar(2), y = scalar(3);
  const Variable a = x * y;
  (a * a + a * x).backward();  // x^2 y^2 + x^2 y
  CHECK(x.grad().item() == 2 * 2 * 9 + 2 * 2 * 3);
  CHECK(y.grad().item() == 2 * 4 * 3 + 4);
  CHECK(gradient_of(x + x, x) == std::vector<double>{2});
  CHECK(gradient_of(x * x, x) == std::vector<double>{4});
}

TEST_CASE("each node runs once, after all of its users (A-01)") {
  // A diamond inside a diamond: b is used three times, c twice.
  int b_runs = 0, c_runs = 0;
  const auto f = [&](const std::vector<Variable>& in) {
    const Variable b = counted(in[0] * 2.0, &b_runs);
    const Variable c = counted(b * b, &c_runs);
    return c * (b + c) + b;
  };
  const Variable x = scalar(1.5);
  f({x}).backward();
  CHECK(b_runs == 1);
  CHECK(c_runs == 1);
  // c = 4 x^2, so f = 8 x^3 + 16 x^4 + 2 x.
  CHECK(x.grad().item() == doctest::Approx(24 * 2.25 + 64 * 3.375 + 2));
  check_gradients(f, {x});
}

TEST_CASE("long sums in place give the same bits as sums made one by one (A-16)") {
  // 30 residual blocks; create_graph never adds in place, so it shows what reuse of buffers would have
  // changed.
  std::vector<Variable> weights;
  for (int i = 0; i < 30; ++i) weights.push_back(leaf({4}, -0.5, 0.5, 10 * i));
  const auto model = [](const std::vector<Variable>& w) {
    Variable x(spread({3, 4}));
    for (const Variable& v : w) x = x + tanh(x * v) * v + x * 0.01;
    return sum(x * x);
  };
  model(weights).backward();
  const std::vector<Variable> recorded = grad({model(weights)}, weights, creating());
  for (std::size_t i = 0; i < weights.size(); ++i) CHECK(values(weights[i].grad()) == values(recorded[i]));
  GradcheckOptions two_each;
  two_each.max_elements_per_input = 2;
  const GradcheckResult r = gradcheck(model, weights, two_each);
  CHECK_MESSAGE(r.ok, r.str());
}

// --- Calling backward more than once -----------------------------------------------------------------------

TEST_CASE("leaves add up over calls, until zero_grad (A-02)") {
  Variable x = scalar(5);
  const Variable f = x * x * x;
  f.backward(retaining());
  CHECK(x.grad().item() == 75);
  f.backward(retaining());
  CHECK(x.grad().item() == 150);
  x.zero_grad();
  f.backward();
  CHECK(x.grad().item() == 75);
}

TEST_CASE("a gradient somebody holds on to does not change under them") {
  const Variable x = scalar(5);
  (x * x).backward();
  const Variable first = x.grad();
  (x * x).backward();
  CHECK(first.item() == 10);
  CHECK(x.grad().item() == 20);
}

TEST_CASE("a graph that was used up says so, whatever the op, and leaves the gradients alone (A-03)") {
  using Op = Variable (*)(const Variable&);
  const Op ops[] = {[](const Variable& x) { return exp(x); }, [](const Variable& x) { return x + 1.0; },
                    [](const Variable& x) {
                      return reshape(x, {1, 3});
                    }};
  for (const Op op : ops) {
    const Variable x = leaf({3});
    const Variable shared = op(x);
    const Variable first = sum(shared * 2.0), second = sum(shared * 3.0);
    first.backward();
    const std::vector<double> before = values(x.grad());
    CHECK_THROWS_WITH_AS(second.backward(), doctest::Contains("the graph was already used"), Error);
    CHECK_THROWS_WITH_AS(first.backward(), doctest::Contains("retain_graph"), Error);
    CHECK(values(x.grad()) == before);
  }
}

TEST_CASE("two leaves that get the same numbers do not share them") {
  const Variable a = leaf({3}), b = leaf({3});
  sum(a + b).backward();
  CHECK_FALSE(a.grad().value().storage() == b.grad().value().storage());
  std::vector<Variable> g = grad({sum(a + b)}, {a, b});
  mul_(g[0].mutable_value(), 10);
  CHECK(values(g[1]) == std::vector<double>{1, 1, 1});
}

// --- What is refused ---------------------------------------------------------------------------------------

TEST_CASE("backward needs one element, or a gradient that fits (A-18)") {
  const Variable x = leaf({2, 3});
  CHECK_THROWS_WITH_AS((x * 2.0).backward(), doctest::Contains("shape is (2, 3)"), Error);
  BackwardOptions options;
  options.gradient = Variable(ones({3}, DType::f64));
  CHECK_THROWS_WITH_AS((x * 2.0).backward(options), doctest::Contains("(3)"), Error);
  options.gradient = Variable(ones({2, 3}));
  CHECK_THROWS_WITH_AS((x * 2.0).backward(options), doctest::Contains("float32"), Error);
}

TEST_CASE("backward on a constant is an error (A-18)") {
  const Variable constant(Tensor::scalar(2.0));
  CHECK_THROWS_WITH_AS((constant * 2.0).backward(), doctest::Contains("nothing here requires a gradient"),
                       Error);
  const Variable x = scalar(1);
  CHECK_THROWS_AS((x * 2.0).detach().backward(), Error);
  {
    const NoGrad off;
    CHECK_THROWS_AS((x * 2.0).backward(), Error);
  }
  CHECK_THROWS_AS(Variable().backward(), Error);
}

TEST_CASE("an unused leaf gets no gradient, and clearing before the first backward is allowed (A-18)") {
  Variable x = scalar(1), unused = scalar(1);
  x.zero_grad();
  (x * 2.0).backward();
  CHECK(x.has_grad());
  CHECK_FALSE(unused.has_grad());
  CHECK_THROWS_WITH_AS(unused.grad(), doctest::Contains("no gradient yet"), Error);
}

// --- grad(): answers without side effects ------------------------------------------------------------------

TEST_CASE("grad() of inner values and leaves, touching no stored gradient") {
  const Variable x = scalar(3);
  Variable y = x * x;
  y.retain_grad();
  const Variable z = y * y;
  const std::vector<Variable> g = grad({z}, {x, y, x});
  CHECK(g[0].item() == 4 * 27);
  CHECK(g[1].item() == 18);
  CHECK(g[2].item() == 4 * 27);
  CHECK_FALSE(x.has_grad());
  CHECK_FALSE(y.has_grad());
}

TEST_CASE("grad() does not run what lies behind the inputs") {
  int runs = 0;
  const Variable x = scalar(3);
  const Variable y = counted(x, &runs);
  CHECK(grad({y * y}, {y})[0].item() == 6);
  CHECK(runs == 0);
  y.backward();  // its part of the graph is still there
  CHECK(runs == 1);
}

TEST_CASE("grad() of several outputs adds up") {
  const Variable x = scalar(3);
  CHECK(grad({x * x, x * 5.0}, {x})[0].item() == 11);
  GradOptions weighted;
  weighted.gradients = {Variable(Tensor::scalar(2.0)), Variable(Tensor::scalar(-1.0))};
  CHECK(grad({x * x, x * 5.0}, {x}, weighted)[0].item() == 7);
}

TEST_CASE("grad() names an input that the outputs do not depend on") {
  const Variable x = scalar(3), other = scalar(1);
  CHECK_THROWS_WITH_AS(grad({x * x}, {x, other}), doctest::Contains("input 1"), Error);
  GradOptions options;
  options.allow_unused = true;
  CHECK_FALSE(grad({x * x}, {x, other}, options)[1].defined());
  CHECK_THROWS_AS(grad({x * x}, {Variable(Tensor::scalar(1.0))}), Error);
}

// --- Derivatives of derivatives ----------------------------------------------------------------------------

TEST_CASE("create_graph: derivatives of x^4 until they are flat") {
  const Variable x = scalar(2);
  Variable d = pow(x, 4);
  for (double expected : {32.0, 48.0, 48.0, 24.0}) {
    d = grad({d}, {x}, creating())[0];
    CHECK(d.item() == expected);
  }
}

TEST_CASE("create_graph through backward(): the stored gradient has a history") {
  Variable x = scalar(2);
  BackwardOptions options;
  options.create_graph = true;
  (x * x * x).backward(options);
  const Variable first = x.grad();
  x.zero_grad();
  first.backward();
  CHECK(x.grad().item() == 12);
  CHECK_THROWS_WITH_AS(first.backward(), doctest::Contains("already used"), Error);
}

// --- Hooks and kept gradients ------------------------------------------------------------------------------

TEST_CASE("retain_grad keeps the gradient of an inner value; asking without it is an error (A-15)") {
  const Variable x = leaf({3});
  Variable y = x * 2.0, z = y * y;
  y.retain_grad();
  sum(z).backward();
  const std::vector<double> ys = values(y), dy = values(y.grad());
  for (std::size_t i = 0; i < 3; ++i) CHECK(dy[i] == 2 * ys[i]);
  CHECK_THROWS_WITH_AS(z.grad(), doctest::Contains("retain_grad"), Error);
  CHECK_THROWS_AS(Variable(Tensor::scalar(1.0)).retain_grad(), Error);
}

TEST_CASE("a kept gradient is that of the latest pass") {
  const Variable x = scalar(3);
  Variable y = x * 2.0;
  const Variable z = y * y;
  y.retain_grad();
  z.backward(retaining());
  z.backward();
  CHECK(y.grad().item() == 12);
  CHECK(x.grad().item() == 48);  // leaves add up
}

TEST_CASE("numbers that a hook keeps of a gradient do not change under it") {
  const Variable x = leaf({3});
  const Variable older = x * 5.0;
  Variable same = x + 1.0;  // hands its gradient on to x as it is
  Tensor kept;
  same.on_grad([&kept](const Variable& g) {
    kept = g.value();
    return Variable();
  });
  sum(same * 2.0 + older).backward();
  CHECK(kept.to_vector<double>() == std::vector<double>(3, 2.0));
  CHECK(values(x.grad()) == std::vector<double>(3, 7.0));
}

TEST_CASE("grad() runs the hooks of leaves") {
  Variable x = scalar(3);
  x.on_grad([](const Variable& g) { return g * 10.0; });
  CHECK(grad({x * 4.0}, {x})[0].item() == 40);
  CHECK_FALSE(x.has_grad());
}

TEST_CASE("a hook sees the whole gradient once, and may replace it") {
  Variable x = scalar(3);
  Variable y = x * 2.0;
  std::vector<double> seen;
  y.on_grad([&seen](const Variable& g) {
    seen.push_back(g.item());
    return g * 10.0;
  });
  x.on_grad([&seen](const Variable& g) {
    seen.push_back(g.item());
    return Variable();
  });
  (y * y + y).backward();  // dy = 2 y + 1 = 13
  CHECK(seen == std::vector<double>{13, 260});
  CHECK(x.grad().item() == 260);
}

TEST_CASE("a hook cannot change the shape of a gradient") {
  Variable x = leaf({3});
  x.on_grad([](const Variable& g) { return reshape(g, {3, 1}); });
  CHECK_THROWS_WITH_AS(sum(x).backward(), doctest::Contains("[hook]"), Error);
}

TEST_CASE("an error in the middle of a pass leaves nothing behind") {
  const Variable x = scalar(3), w = scalar(1);
  Variable y = x * 2.0;
  bool broken = true;
  y.on_grad([&broken](const Variable&) -> Variable {
    if (broken) fail("test", "broken hook");
    return Variable();
  });
  const Variable z = y * y + w * x;  // w and x have partial sums when the hook runs
  CHECK_THROWS_WITH_AS(z.backward(retaining()), doctest::Contains("broken hook"), Error);
  CHECK_FALSE(x.has_grad());
  CHECK_FALSE(w.has_grad());
  broken = false;
  z.backward();
  CHECK(x.grad().item() == 2 * 6 * 2 + 1);
  CHECK(w.grad().item() == 3);
}

TEST_CASE("an error in the middle of a pass leaves nothing in operations that were still to run") {
  const Variable x = scalar(3);
  const Variable u = x * 3.0;  // older than y: it has its gradient when the hook of y fails, and has not run
  Variable y = x * 2.0;
  bool broken = true;
  y.on_grad([&broken](const Variable&) -> Variable {
    if (broken) fail("test", "broken hook");
    return Variable();
  });
  const Variable z = u * y;
  CHECK_THROWS_WITH_AS(z.backward(retaining()), doctest::Contains("broken hook"), Error);
  broken = false;
  z.backward();
  CHECK(x.grad().item() == 36);  // of 6 x^2
}

TEST_CASE("a hook may run a backward pass of its own") {
  const Variable x = scalar(3);
  Variable y = x * 2.0;
  y.on_grad([&x](const Variable&) {
    const detail::Recording on(true);
    (x * 100.0).backward();
    return Variable();
  });
  (x * y).backward();  // 4 x = 12, and 100 from the hook
  CHECK(x.grad().item() == 112);
}

}  // namespace
}  // namespace minigpt
