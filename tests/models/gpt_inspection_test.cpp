// Looking inside a whole GPT: planted faults are found where they are, any gradient has a name, second derivatives are right.

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "autograd/anomaly.h"
#include "autograd/graph.h"
#include "autograd/hvp.h"
#include "models/probe.h"
#include "tensor/arithmetic.h"
#include "tensor/reduce.h"
#include "tests/models/tiny_models.h"

namespace minigpt::test {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

void plant(Gpt& gpt, std::string_view name, std::int64_t element, double value) {
  for (NamedParameter& p : gpt.parameters())
    if (p.name == name) p.variable.mutable_value().mutable_data<double>()[element] = value;
}

AnomalyReport report_of(const Gpt& gpt, const Mode& mode = {}) {
  const Tensor tokens = tokens_for(gpt.config, 2, 4);
  const AnomalyMode anomalies(12);
  try {
    gpt.loss(tokens, tokens, mode).backward();
  } catch (const Anomaly& anomaly) {
    return anomaly.report;
  }
  FAIL("no anomaly was found");
  return {};
}

TEST_CASE("GPT: a NaN in a weight is reported with the module, the weight and the place in it") {
  Gpt gpt = lively_model(tiny_config(), 1);
  SUBCASE("attention projection") {
    plant(gpt, "transformer.h.1.attn.c_proj.weight", 6, kNan);
    const AnomalyReport r = report_of(gpt);
    CHECK_FALSE(r.backward);
    CHECK(r.step == 12);
    CHECK(r.op == "linear");
    CHECK(r.module == "transformer.h.1.attn.c_proj");
    REQUIRE(r.sources.size() >= 2);
    CHECK(r.sources[1].name == "transformer.h.1.attn.c_proj.weight");
    CHECK(*r.sources[1].first == Dims{1, 2});
  }
  SUBCASE("feed-forward, fused") {
    plant(gpt, "transformer.h.0.mlp.c_fc.weight", 0, kNan);
    const AnomalyReport r = report_of(gpt);
    CHECK(r.op == "mlp");
    CHECK(r.module == "transformer.h.0.mlp");
    CHECK(r.sources[1].name == "transformer.h.0.mlp.c_fc.weight");
    CHECK(r.sources[1].not_finite == 1);
  }
  SUBCASE("with recomputed blocks too") {
    plant(gpt, "transformer.h.1.attn.c_attn.weight", 3, kNan);
    Mode mode;
    mode.recompute = true;
    const AnomalyReport r = report_of(gpt, mode);
    CHECK(r.module == "transformer.h.1.attn.c_attn");
  }
}

TEST_CASE(
    "GPT: a layer that explodes is reported where the first number overflows, not where NaN comes out of "
    "it") {
  Gpt gpt = lively_model(tiny_config(), 1);
  for (std::int64_t i = 0; i < 16; ++i)
    plant(gpt, "transformer.h.0.attn.c_proj.weight", i, i % 2 ? 1e308 : -1e308);
  for (std::int64_t i = 0; i < 16; ++i) plant(gpt, "transformer.h.0.mlp.c_proj.weight", i, 1e308);
  const AnomalyReport r = report_of(gpt);
  CHECK_FALSE(r.backward);
  CHECK(r.module.starts_with("transformer.h.0"));
  CHECK(r.sources[0].max > 0);
}

TEST_CASE("GPT: a gradient that a hook spoils is found at the module where it enters") {
  const Gpt gpt = lively_model(tiny_config(), 1);
  Hooks hooks;
  hooks.on_backward("transformer.h.0.mlp", [](const char*, const Variable& g) {
    return Variable(full(g.shape(), kNan, g.dtype()));
  });
  const AnomalyReport r = report_of(gpt, hooks.watching({}));
  CHECK(r.backward);
  CHECK(r.op == "mlp");
  CHECK(r.module == "transformer.h.0.mlp");
}

TEST_CASE("GPT: in a healthy step anomaly mode finds nothing and changes nothing") {
  Gpt a = lively_model(tiny_config(), 1), b = lively_model(tiny_config(), 1);
  const Tensor tokens = tokens_for(a.config, 2, 4);
  a.loss(tokens, tokens).backward();
  {
    const AnomalyMode anomalies;
    b.loss(tokens, tokens).backward();
  }
  const std::vector<NamedParameter> pa = a.parameters(), pb = b.parameters();
  for (std::size_t i = 0; i < pa.size(); ++i)
    CHECK(pa[i].variable.grad().value().to_vector<double>() ==
          pb[i].variable.grad().value().to_vector<double>());
}

TEST_CASE("GPT: gradient_of() gives every parameter's gradient, and those inside as a probe sees them") {
  Gpt gpt = lively_model(tiny_config(), 2);
  const Tensor tokens = tokens_for(gpt.config, 2, 4);
  Probe probe(gpt, {"transformer.h.0.attn", "transformer.h.1"});
  const Variable loss = gpt.loss(tokens, tokens, probe.watching({}));
  std::vector<std::vector<double>> by_name;
  for (const NamedParameter& p : gpt.parameters())
    by_name.push_back(gradient_of(loss, p.name).value().to_vector<double>());
  const Variable inner = gradient_of(loss, "transformer.h.0.attn.c_proj"),
                 block = gradient_of(loss, "transformer.h.1");
  loss.backward();
  std::size_t i = 0;
  for (const NamedParameter& p : gpt.parameters()) {
    CAPTURE(p.name);
    CHECK(by_name[i++] == p.variable.grad().value().to_vector<double>());
  }
  const std::vector<Captured> seen = probe.finish();
  CHECK(inner.value().to_vector<double>() == seen[0].gradient.to_vector<double>());
  CHECK(block.value().to_vector<double>() == seen[1].gradient.to_vector<double>());
}

TEST_CASE("GPT: Hessian-vector products over all parameters agree with differences of the gradient") {
  Gpt gpt = lively_model(tiny_config(), 3);
  const Tensor tokens = tokens_for(gpt.config, 2, 4), targets = tokens_for(gpt.config, 2, 4, 9);
  std::vector<Variable> inputs;
  std::vector<Tensor> vectors;
  Generator rng(5);
  for (const NamedParameter& p : gpt.parameters()) {
    inputs.push_back(p.variable);
    Variable v(Tensor::empty(p.variable.shape(), DType::f64));
    init::uniform_(v, -1, 1, rng);
    vectors.push_back(v.value());
  }
  const std::vector<Tensor> hv = hessian_vector_product(gpt.loss(tokens, targets), inputs, vectors);
  const auto gradients_at = [&](double step) {
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      inputs[i].zero_grad();
      inputs[i].mutable_value().copy_(inputs[i].value() + vectors[i] * step);
    }
    gpt.loss(tokens, targets).backward();
    std::vector<Tensor> all;
    for (Variable& p : inputs) {
      all.push_back(p.grad().value().clone());
      p.zero_grad();
    }
    return all;
  };
  constexpr double kStep = 1e-5;
  const std::vector<Tensor> up = gradients_at(kStep), down = gradients_at(-2 * kStep);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    CAPTURE(inputs[i].name());
    const Tensor slope = (up[i] - down[i]) * (1 / (2 * kStep));
    const double error = std::sqrt(sum_of_squares(slope - hv[i])), size = std::sqrt(sum_of_squares(hv[i]));
    CHECK(error <= 1e-6 * (1 + size));
    CHECK(size > 1e-3);
  }
}

}  // namespace
}  // namespace minigpt::test
