// Optimisers, clipping and schedules against PyTorch: optim.json.

#include <doctest/doctest.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "autograd/ops/add.h"
#include "autograd/ops/matmul.h"
#include "autograd/ops/mean.h"
#include "autograd/ops/mul.h"
#include "autograd/ops/sub.h"
#include "nn/optim/adam.h"
#include "nn/optim/sgd.h"
#include "nn/schedule.h"
#include "tests/reference_files.h"

namespace minigpt::reference {
namespace {

using nlohmann::json;

// A hyper-parameter, or PyTorch's default.
template <class T>
T value_or(const json& hyper, const char* key, T otherwise) {
  return hyper.contains(key) ? hyper.at(key).get<T>() : otherwise;
}

// The groups of a trace: one with everything, or those that it lists.
std::vector<ParameterGroup> groups_of(const json& trace, const std::vector<NamedParameter>& parameters,
                                      double default_decay) {
  const json& hyper = trace.at("hyper");
  const ParameterGroup common{{}, hyper.at("lr"), value_or(hyper, "weight_decay", default_decay)};
  if (trace.at("groups").is_null()) return {{parameters, common.learning_rate, common.weight_decay}};
  std::vector<ParameterGroup> groups;
  for (const json& entry : trace["groups"]) {
    ParameterGroup group{{},
                         value_or(entry, "lr", common.learning_rate),
                         value_or(entry, "weight_decay", common.weight_decay)};
    for (const json& name : entry.at("params"))
      for (const NamedParameter& p : parameters)
        if (p.name == name.get<std::string>()) group.parameters.push_back(p);
    groups.push_back(group);
  }
  return groups;
}

std::unique_ptr<Optimizer> make_optimizer(const json& trace, const std::vector<NamedParameter>& parameters) {
  const json& hyper = trace.at("hyper");
  const std::string name = trace.at("optimizer");
  if (name == "SGD") {
    SgdOptions options;
    options.momentum = value_or(hyper, "momentum", 0.0);
    options.dampening = value_or(hyper, "dampening", 0.0);
    options.nesterov = value_or(hyper, "nesterov", false);
    return std::make_unique<Sgd>(groups_of(trace, parameters, 0), options);
  }
  REQUIRE_MESSAGE((name == "Adam" || name == "AdamW"), "unknown optimizer " << name);
  AdamOptions options;
  if (hyper.contains("betas")) {
    options.beta1 = hyper["betas"].at(0);
    options.beta2 = hyper["betas"].at(1);
  }
  options.eps = value_or(hyper, "eps", 1e-8);
  options.decoupled_decay = name == "AdamW";
  return std::make_unique<Adam>(groups_of(trace, parameters, name == "AdamW" ? 0.01 : 0), options);
}

// A flat list of numbers as a tensor like `like`.
Tensor flat(const json& values, const Tensor& like) {
  return Tensor::from<double>(values.get<std::vector<double>>(), like.shape()).to(like.dtype());
}

void check_number(const std::string& what, double actual, double expected, DType dtype) {
  const double tolerance =
      dtype == DType::f64 ? 1e-12 + 1e-9 * std::abs(expected) : 1e-6 + 2e-5 * std::abs(expected);
  CHECK_MESSAGE(std::abs(actual - expected) <= tolerance,
                what << " is " << actual << ", expected " << expected);
}

void run_trace(const json& trace) {
  const Variable x(tensor(trace.at("x"))), y(tensor(trace.at("y")));
  Variable w(tensor(trace.at("init").at("W")), true), b(tensor(trace["init"].at("b")), true);
  const std::vector<NamedParameter> parameters = {{"W", w, {}}, {"b", b, {}}};
  const std::unique_ptr<Optimizer> optimizer = make_optimizer(trace, parameters);
  const auto compare = [&](const std::string& what, const Tensor& actual, const json& expected, Kind kind) {
    const std::string text = difference(actual, flat(expected, actual), kind);
    CHECK_MESSAGE(text.empty(), what << " " << text);
  };
  for (const json& step : trace.at("steps")) {
    INFO(trace.at("id").get<std::string>() << ", step " << step.at("step").get<int>());
    optimizer->zero_grad();
    const Variable error = matmul(x, w) + b - y;
    const Variable loss = mean(error * error);
    loss.backward();
    check_number("loss", loss.item(), step.at("loss"), x.dtype());
    for (const NamedParameter& p : parameters)
      compare("gradient of " + p.name, p.variable.grad().value(), step.at("grads").at(p.name),
              Kind::gradient);
    if (!trace.at("clip").is_null()) {
      check_number("norm", clip_grad_norm(parameters, trace["clip"]), step.at("grad_norm"), x.dtype());
      for (const NamedParameter& p : parameters)
        compare("clipped " + p.name, p.variable.grad().value(), step.at("clipped").at(p.name),
                Kind::gradient);
    }
    if (step.contains("lr")) optimizer->set_learning_rate(step["lr"]);
    optimizer->step();
    for (const NamedParameter& p : parameters)
      compare(p.name, p.variable.value(), step.at("params").at(p.name), Kind::result);
  }
}

TEST_CASE("optimisers take PyTorch's steps") {
  const json file = load("optim.json");
  REQUIRE(file.at("traces").size() > 0);
  for (const json& trace : file["traces"]) run_trace(trace);
}

// Clipping by a factor handed to step() saves a pass over all gradients; the result must be the same.
TEST_CASE("a clipping factor handed to step() does what clipping the gradients does") {
  const json file = load("optim.json");
  int checked = 0;
  for (const json& trace : file.at("traces")) {
    if (trace.at("clip").is_null()) continue;
    const auto init = [&](const char* name) { return Variable(tensor(trace.at("init").at(name)), true); };
    const std::vector<NamedParameter> parameters = {{"W", init("W"), {}}, {"b", init("b"), {}}};
    const std::unique_ptr<Optimizer> optimizer = make_optimizer(trace, parameters);
    const json& step = trace.at("steps").at(0);
    for (NamedParameter p : parameters)
      p.variable.set_grad(Variable(flat(step.at("grads").at(p.name), p.variable.value())));
    optimizer->step(clip_factor(grad_norm(parameters), trace["clip"]));
    for (const NamedParameter& p : parameters) {
      const Tensor expected = flat(step.at("params").at(p.name), p.variable.value());
      CHECK(difference(p.variable.value(), expected, Kind::result) == "");
      ++checked;
    }
  }
  CHECK(checked > 0);
}

TEST_CASE("clipping scales gradients as PyTorch's clip_grad_norm_") {
  const json file = load("optim.json");
  int checked = 0, skipped = 0;
  for (const json& entry : file.at("clip")) {
    INFO(entry.at("id").get<std::string>());
    if (!entry.at("norm_type")
             .is_number()) {  // the largest element as the norm: optional, and nobody asked for it
      ++skipped;
      continue;
    }
    REQUIRE(entry["norm_type"].get<double>() == 2);
    std::vector<NamedParameter> parameters;
    for (const json& g : entry.at("grads")) {
      const Tensor gradient = tensor(g);
      Variable p(zeros_like(gradient), true);
      p.set_grad(Variable(gradient));
      parameters.push_back({"p", p, {}});
    }
    // A parameter that the loss does not reach has no gradient, and no part in the norm.
    parameters.push_back({"unused", Variable(ones({3}), true), {}});
    check_number("norm", clip_grad_norm(parameters, entry.at("max_norm")), entry.at("total_norm"),
                 parameters[0].variable.dtype());
    for (std::size_t i = 0; i < entry["grads"].size(); ++i) {
      const Tensor actual = parameters[i].variable.grad().value();
      CHECK(difference(actual, flat(entry.at("clipped").at(i), actual), Kind::gradient) == "");
    }
    CHECK_FALSE(parameters.back().variable.has_grad());
    ++checked;
  }
  MESSAGE("clipping: " << checked << " cases; skipped for another norm than the Euclidean one: " << skipped);
  REQUIRE(checked > 0);
}

TEST_CASE("the cosine schedule gives nanoGPT's rates") {
  const json file = load("optim.json");
  REQUIRE(file.at("schedule").size() > 0);
  for (const json& entry : file["schedule"]) {
    Schedule schedule;
    schedule.learning_rate = entry.at("learning_rate");
    schedule.min_lr = entry.at("min_lr");
    schedule.warmup_iters = entry.at("warmup_iters");
    schedule.lr_decay_iters = entry.at("lr_decay_iters");
    for (const json& pair : entry.at("values"))
      CHECK(schedule.at(pair.at(0)) == doctest::Approx(pair.at(1).get<double>()).epsilon(1e-12));
  }
}

}  // namespace
}  // namespace minigpt::reference
