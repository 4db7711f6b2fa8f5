#include "nn/optim/optimizer.h"

#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <memory>

#include "autograd/ops/mul.h"
#include "autograd/ops/sum.h"
#include "nn/optim/adam.h"
#include "nn/optim/sgd.h"
#include "tensor/views.h"

namespace minigpt {
namespace {

using Make = std::function<std::unique_ptr<Optimizer>(std::vector<ParameterGroup>)>;

struct Kind {
  const char* name;
  Make make;
};

// Every kind of optimiser, with everything on that it remembers.
std::vector<Kind> kinds() {
  return {{"sgd",
           [](std::vector<ParameterGroup> groups) {
             SgdOptions options;
             options.momentum = 0.9;
             return std::make_unique<Sgd>(std::move(groups), options);
           }},
          {"adam",
           [](std::vector<ParameterGroup> groups) {
             AdamOptions options;
             options.decoupled_decay = false;
             return std::make_unique<Adam>(std::move(groups), options);
           }},
          {"adamw",
           [](std::vector<ParameterGroup> groups) { return std::make_unique<Adam>(std::move(groups)); }}};
}

NamedParameter named(const std::string& name, const Shape& shape, double value = 1) {
  return {name, Variable(full(shape, value), true), {}};
}

// A gradient that changes from step to step.
void give_gradient(const NamedParameter& p, int step) {
  Variable v = p.variable;
  Tensor g = Tensor::empty(v.shape());
  float* numbers = g.mutable_data<float>();
  for (std::int64_t i = 0; i < g.numel(); ++i) numbers[i] = std::sin(static_cast<float>(1 + i + 7 * step));
  v.set_grad(Variable(g));
}

std::vector<float> values(const NamedParameter& p) { return p.variable.value().to_vector<float>(); }

TEST_CASE("optimisers: a parameter that the loss does not reach is neither moved nor decayed (A-18)") {
  for (const Kind& kind : kinds()) {
    INFO(kind.name);
    const NamedParameter used = named("used", {2, 2}), unused = named("unused", {2, 2});
    const auto optimizer = kind.make({{{used, unused}, 0.1, 0.5}});
    for (int step = 0; step < 3; ++step) {
      optimizer->zero_grad();
      CHECK_FALSE(used.variable.has_grad());  // cleared before the first backward, too
      sum(used.variable * used.variable).backward();
      optimizer->step();
    }
    CHECK(values(used) != std::vector<float>(4, 1));
    CHECK(values(unused) == std::vector<float>(4, 1));
  }
}

TEST_CASE("optimisers: gradients add up until they are cleared (A-18)") {
  const NamedParameter p = named("p", {1}, 3);
  Sgd optimizer({{{p}, 0.5, 0}});
  for (int i = 0; i < 2; ++i) sum(p.variable * p.variable).backward();
  CHECK(p.variable.grad().value().item() == 12);
  optimizer.step();
  CHECK(values(p) == std::vector<float>{-3});
}

TEST_CASE("optimisers: with a gradient of zero only the decay moves a parameter") {
  for (const bool decoupled : {true, false}) {
    const NamedParameter decayed = named("w", {2, 2}), plain = named("b", {2});
    AdamOptions options;
    options.decoupled_decay = decoupled;
    Adam optimizer({{{decayed}, 0.01, 0.1}, {{plain}, 0.01, 0}}, options);
    for (NamedParameter p : {decayed, plain}) p.variable.set_grad(Variable(zeros(p.variable.shape())));
    optimizer.step();
    // AdamW: w (1 - lr wd). Adam: the decay is a gradient of 0.1, and the first step of Adam is lr whatever its size.
    for (const float w : values(decayed)) CHECK(w == doctest::Approx(decoupled ? 0.999 : 0.99).epsilon(1e-6));
    CHECK(values(plain) == std::vector<float>{1, 1});
  }
}

TEST_CASE("optimisers: a factor in step() is a factor of every gradient") {
  for (const Kind& kind : kinds()) {
    INFO(kind.name);
    const NamedParameter a = named("a", {3}), b = named("b", {3});
    const auto scaled = kind.make({{{a}, 0.1, 0.1}}), plain = kind.make({{{b}, 0.1, 0.1}});
    for (int step = 0; step < 3; ++step) {
      give_gradient(a, step);
      Variable gradient = a.variable.grad();
      Tensor half = gradient.value().clone();
      for (float* x = half.mutable_data<float>(); float& g : std::span(x, 3)) g *= 0.5f;
      NamedParameter to = b;
      to.variable.set_grad(Variable(half));
      scaled->step(0.5);
      plain->step();
    }
    CHECK(values(a) == values(b));
  }
}

TEST_CASE("adam: every parameter is corrected by the number of its own updates") {
  const NamedParameter often = named("often", {2}), seldom = named("seldom", {2}),
                       alone = named("alone", {2});
  Adam together({{{often, seldom}, 0.1, 0}}), single({{{alone}, 0.1, 0}});
  for (int step = 0; step < 4; ++step) {
    give_gradient(often, step);
    if (step >= 2) {
      for (const NamedParameter& p : {seldom, alone}) give_gradient(p, step);
      single.step();
    }
    together.step();
  }
  CHECK(values(seldom) == values(alone));
}

TEST_CASE("optimisers: a gradient may lie crosswise in memory (O-03)") {
  for (const Kind& kind : kinds()) {
    INFO(kind.name);
    const NamedParameter a = named("a", {2, 3}), b = named("b", {2, 3});
    const auto crosswise = kind.make({{{a}, 0.1, 0.1}}), plain = kind.make({{{b}, 0.1, 0.1}});
    for (int step = 0; step < 3; ++step) {
      give_gradient(b, step);
      NamedParameter to = a;
      to.variable.set_grad(Variable(transpose(transpose(b.variable.grad().value()).contiguous())));
      REQUIRE_FALSE(a.variable.grad().value().is_contiguous());
      crosswise->step();
      plain->step();
    }
    CHECK(values(a) == values(b));
  }
}

TEST_CASE("optimisers: set_learning_rate reaches every group") {
  const NamedParameter a = named("a", {1}), b = named("b", {1});
  Sgd optimizer({{{a}, 1, 0}, {{b}, 2, 0}});
  optimizer.set_learning_rate(0.25);
  for (NamedParameter p : {a, b}) p.variable.set_grad(Variable(ones({1})));
  optimizer.step();
  CHECK(values(a) == std::vector<float>{0.75});
  CHECK(values(b) == std::vector<float>{0.75});
  CHECK(optimizer.groups().size() == 2);
}

TEST_CASE("optimisers: the state, taken over by another one, goes on to the same bits") {
  for (const Kind& kind : kinds()) {
    INFO(kind.name);
    const NamedParameter w = named("w", {2, 2}), b = named("b", {2});
    const auto unbroken = kind.make({{{w}, 0.1, 0.1}, {{b}, 0.1, 0}});
    for (int step = 0; step < 5; ++step) {
      give_gradient(w, step);
      if (step != 2) give_gradient(b, step);  // b skips a step: counts are kept per parameter
      unbroken->step();
      unbroken->zero_grad();
    }
    std::vector<NamedTensor> saved;
    for (const NamedTensor& t : unbroken->state()) saved.push_back({t.name, t.tensor.clone()});

    const NamedParameter w2 = {"w", Variable(w.variable.value().clone(), true), {}},
                         b2 = {"b", Variable(b.variable.value().clone(), true), {}};
    const auto resumed = kind.make({{{w2}, 0.1, 0.1}, {{b2}, 0.1, 0}});
    resumed->load_state(saved);
    for (int step = 5; step < 8; ++step) {
      for (const NamedParameter& p : {w, b, w2, b2}) give_gradient(p, step);
      unbroken->step();
      resumed->step();
    }
    CHECK(values(w) == values(w2));
    CHECK(values(b) == values(b2));
    // Without the state it would have gone elsewhere.
    const NamedParameter w3 = {"w", Variable(full({2, 2}, 1), true), {}};
    const auto fresh = kind.make({{{w3}, 0.1, 0.1}});
    give_gradient(w3, 5);
    fresh->step();
    CHECK(values(w3) != values(w));
  }
}

TEST_CASE("optimisers: a state that does not fit is refused and changes nothing") {
  const NamedParameter w = named("w", {2}), b = named("b", {2});
  Adam optimizer({{{w, b}, 0.1, 0}});
  give_gradient(w, 0);
  optimizer.step();
  const auto copy = [](const std::vector<NamedTensor>& state) {
    std::vector<NamedTensor> out;
    for (const NamedTensor& t : state) out.push_back({t.name, t.tensor.clone()});
    return out;
  };
  const std::vector<NamedTensor> good = copy(optimizer.state());
  REQUIRE(good.size() == 5);
  CHECK(good[0].name == "exp_avg.w");
  CHECK(good[1].name == "exp_avg_sq.w");
  CHECK(good[4].name == "steps");
  CHECK(good[4].tensor.to_vector<std::int32_t>() == std::vector<std::int32_t>{1, 0});

  const auto refused = [&](std::vector<NamedTensor> bad, const char* why) {
    bad[0].tensor.fill_(99);  // would be seen if anything were taken
    CHECK_THROWS_WITH_AS(optimizer.load_state(bad), doctest::Contains(why), Error);
    CHECK_THROWS_WITH_AS(optimizer.check_state(bad), doctest::Contains(why), Error);
    CHECK(optimizer.state()[0].tensor.to_vector<float>() == good[0].tensor.to_vector<float>());
  };
  std::vector<NamedTensor> bad = copy(good);
  bad.pop_back();
  refused(bad, "lacks steps");
  bad = copy(good);
  bad.push_back({"exp_avg.c", zeros({2})});
  refused(bad, "has exp_avg.c");
  bad = copy(good);
  bad[3].tensor = zeros({3});
  refused(bad, "exp_avg_sq.b is float32 (3), the parameter needs float32 (2)");
  bad = copy(good);
  bad[2].tensor = zeros({2}, DType::f64);
  refused(bad, "exp_avg.b is float64");
  CHECK_NOTHROW(optimizer.check_state(good));
}

TEST_CASE("optimisers: one parameter under two names is refused; so are settings that make no sense") {
  const NamedParameter w = named("wte.weight", {2, 2});
  const NamedParameter again = {"lm_head.weight", w.variable, {}};
  CHECK_THROWS_WITH_AS(Sgd({{{w}, 0.1, 0}, {{again}, 0.1, 0}}),
                       doctest::Contains("wte.weight and lm_head.weight are the same parameter"), Error);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK_THROWS_WITH_AS(Sgd({{{w}, -1, 0}}), doctest::Contains("learning rate"), Error);
  CHECK_THROWS_WITH_AS(Sgd({{{w}, nan, 0}}), doctest::Contains("learning rate"), Error);
  const double inf = std::numeric_limits<double>::infinity();
  for (const double bad : {-1.0, nan, inf})
    CHECK_THROWS_WITH_AS(Sgd({{{w}, 0.1, bad}}), doctest::Contains("weight decay"), Error);
  SgdOptions sgd;
  sgd.nesterov = true;
  CHECK_THROWS_WITH_AS(Sgd({{{w}, 0.1, 0}}, sgd), doctest::Contains("nesterov needs momentum > 0"), Error);
  sgd.momentum = 0.9;
  CHECK_NOTHROW(Sgd({{{w}, 0.1, 0}}, sgd));
  sgd.dampening = 0.5;
  CHECK_THROWS_WITH_AS(Sgd({{{w}, 0.1, 0}}, sgd), doctest::Contains("and dampening 0.5"), Error);
  sgd = {};
  for (const double bad : {-0.5, nan, inf}) {
    sgd.momentum = bad;
    CHECK_THROWS_WITH_AS(Sgd({{{w}, 0.1, 0}}, sgd), doctest::Contains("[sgd] momentum"), Error);
  }
  for (const double bad : {-0.1, 1.0, nan})
    for (double AdamOptions::*beta : {&AdamOptions::beta1, &AdamOptions::beta2}) {
      AdamOptions adam;
      adam.*beta = bad;
      CHECK_THROWS_WITH_AS(Adam({{{w}, 0.1, 0}}, adam), doctest::Contains("betas"), Error);
    }
  for (const double bad : {-1e-8, nan, inf}) {
    AdamOptions adam;
    adam.eps = bad;
    CHECK_THROWS_WITH_AS(Adam({{{w}, 0.1, 0}}, adam), doctest::Contains("eps"), Error);
  }
}

TEST_CASE("optimisers: a rate or a factor that is no number stops them before anything moves") {
  const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  for (const Kind& kind : kinds()) {
    INFO(kind.name);
    const NamedParameter p = named("p", {2});
    give_gradient(p, 0);
    const auto optimizer = kind.make({{{p}, 0.1, 0.1}});
    for (const double bad : {nan, inf, -inf}) {
      CHECK_THROWS_WITH_AS(optimizer->step(bad), doctest::Contains("factor of the gradients"), Error);
      CHECK_THROWS_WITH_AS(optimizer->set_learning_rate(bad), doctest::Contains("learning rate"), Error);
    }
    CHECK_THROWS_AS(optimizer->set_learning_rate(-0.1), Error);
    CHECK(values(p) == std::vector<float>{1, 1});
    CHECK(optimizer->groups()[0].learning_rate == 0.1);
    optimizer->set_learning_rate(0);
    optimizer->step();
    CHECK(values(p) == std::vector<float>{1, 1});  // a rate of 0 moves nothing, and decays nothing
  }
}

TEST_CASE("optimisers: weights that do not lie row by row are refused, not updated crosswise (O-03)") {
  const Tensor wide = ones({2, 3});
  for (const Tensor& view : {transpose(wide), slice(wide, 1, 0, 2), expand(ones({1, 3}), {2, 3})})
    for (const Kind& kind : kinds())
      CHECK_THROWS_WITH_AS(kind.make({{{NamedParameter{"w", Variable(view, true), {}}}, 0.1, 0}}),
                           "[optimizer] w is not row-major: make it from a clone()", Error);
}

// ---- Clipping

TEST_CASE("clipping: the norm is over all gradients together, and is brought down to the limit") {
  NamedParameter a = named("a", {2}), b = named("b", {1}), unused = named("unused", {1});
  a.variable.set_grad(Variable(Tensor::from<float>({3, 0}, {2})));
  b.variable.set_grad(Variable(Tensor::from<float>({4}, {1})));
  const std::vector<NamedParameter> parameters = {a, b, unused};
  CHECK(grad_norm(parameters) == 5);
  CHECK(clip_grad_norm(parameters, 10) == 5);  // below the limit: nothing changes
  CHECK(b.variable.grad().value().item() == 4);
  CHECK(clip_grad_norm(parameters, 1) == 5);
  CHECK(grad_norm(parameters) == doctest::Approx(1).epsilon(1e-6));
  CHECK(a.variable.grad().value().to_vector<float>()[0] == doctest::Approx(0.6).epsilon(1e-6));
  CHECK_FALSE(unused.variable.has_grad());
}

TEST_CASE("clipping: a norm that float32 could not square is still right") {
  NamedParameter p = named("p", {2});
  p.variable.set_grad(Variable(Tensor::from<float>({3e30f, 4e30f}, {2})));
  CHECK(grad_norm({p}) == doctest::Approx(5e30).epsilon(1e-6));
  clip_grad_norm({p}, 1);
  CHECK(p.variable.grad().value().to_vector<float>()[1] == doctest::Approx(0.8).epsilon(1e-6));
}

TEST_CASE("clipping: the factor never enlarges, and is 1 for a gradient of zero") {
  CHECK(clip_factor(0, 1) == 1);
  CHECK(clip_factor(0.5, 1) == 1);
  CHECK(clip_factor(2, 1) == doctest::Approx(0.5).epsilon(1e-6));
  CHECK(grad_norm({}) == 0);
  CHECK(clip_factor(5, std::numeric_limits<double>::infinity()) == 1);
  CHECK(clip_factor(5, 0) == 0);
  for (const double bad : {-1.0, std::numeric_limits<double>::quiet_NaN()})  // a factor below 0 would climb
    CHECK_THROWS_WITH_AS(clip_factor(5, bad), doctest::Contains("[clip] the largest norm must be 0 or more"),
                         Error);
}

TEST_CASE("clipping: a gradient that is not finite is not hidden by its norm") {
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    NamedParameter p = named("p", {2});
    p.variable.set_grad(Variable(Tensor::from<float>({bad, 1}, {2})));
    CHECK_FALSE(std::isfinite(clip_grad_norm({p}, 1)));
    CHECK_FALSE(std::isfinite(p.variable.grad().value().to_vector<float>()[0]));
  }
}

}  // namespace
}  // namespace minigpt
