// Layers against PyTorch: the cases of modules.json.

#include "tests/nn/reference_modules.h"

#include <doctest/doctest.h>

#include "autograd/engine.h"
#include "nn/embedding.h"
#include "nn/linear.h"
#include "nn/norm.h"
#include "tests/reference_files.h"

namespace minigpt::reference {
namespace {

using nlohmann::json;

// The input of a layer that has one.
Variable only_input(const ModuleCase& c) {
  REQUIRE(c.inputs.size() == 1);
  return c.inputs.begin()->second;
}

ModuleTable all_modules() {
  ModuleTable all = attention_modules();
  all["Linear"] = [](const ModuleCase& c) {
    Generator rng(1);
    Linear layer(c.config.at("in_features"), c.config.at("out_features"), c.setting("bias", true), rng);
    auto parameters = loaded(layer, c);
    return ModuleOutcome{{layer.forward(only_input(c))}, parameters};
  };
  all["Embedding"] = [](const ModuleCase& c) {
    Generator rng(1);
    Embedding layer(c.config.at("num_embeddings"), c.config.at("embedding_dim"), rng);
    auto parameters = loaded(layer, c);
    return ModuleOutcome{{layer.forward(only_input(c).value())}, parameters};
  };
  all["LayerNorm"] = [](const ModuleCase& c) {
    Shape shape;
    for (const json& extent : c.config.at("normalized_shape")) shape.push_back(extent.get<std::int64_t>());
    LayerNorm layer(shape, true, c.setting("affine", true));
    layer.eps = c.setting("eps", layer.eps);
    auto parameters = loaded(layer, c);
    return ModuleOutcome{{layer.forward(only_input(c))}, parameters};
  };
  return all;
}

double dot(const Tensor& a, const Tensor& b) {
  const std::vector<double> x = a.to(DType::f64).to_vector<double>(),
                            y = b.to(DType::f64).to_vector<double>();
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) sum += x[i] * y[i];
  return sum;
}

// The part of a parameter whose gradient is zero mathematically and noise in any arithmetic: a bias of the keys adds
// the same number to all scores of a query, which the softmax takes away again. Returns its first row and number of
// rows, or none.
std::pair<std::int64_t, std::int64_t> noise_in(const std::string& name, std::int64_t rows) {
  if (name.ends_with("W_k.bias")) return {0, rows};
  if (name.ends_with("in_proj_bias")) return {rows / 3, rows / 3};
  return {0, 0};
}

// "" if the noise is small in both, and both are cleared of it.
std::string take_noise_away(const std::string& name, Tensor& a, Tensor& b) {
  a = a.clone(), b = b.clone();
  const auto [first, count] = noise_in(name, a.dim(0));
  std::string report;
  for (Tensor* x : {&a, &b}) {
    Tensor part = slice(*x, 0, first, first + count);
    for (const double v : part.to(DType::f64).to_vector<double>())
      if (!(std::abs(v) <= (x->dtype() == DType::f64 ? 1e-12 : 1e-5)))
        report = fmt::format("is {}, not 0", v);
    part.fill_(0);
  }
  return report;
}

// What disagrees, one line each.
std::string run(const json& entry, const ModuleRunner& runner) {
  ModuleCase c;
  c.config = entry.at("config");
  c.dtype = entry.at("dtype") == "float32" ? DType::f32 : DType::f64;
  for (const json& p : entry.at("params")) c.weights.push_back({p.at("name").get<std::string>(), tensor(p)});
  for (const json& in : entry.at("inputs"))
    c.inputs.emplace(in.at("name").get<std::string>(), Variable(tensor(in), in.contains("grad")));
  const ModuleOutcome result = runner(c);

  std::string report;
  const auto note = [&](const std::string& what, const std::string& text) {
    if (!text.empty()) report += fmt::format("\n  {} {}", what, text);
  };
  // Values. loss = sum over outputs of sum(out * grad_out), so grad_out is the gradient that comes in.
  double loss = 0;
  std::vector<Variable> roots;
  GradOptions options;
  options.allow_unused = true;
  REQUIRE(result.outputs.size() >= entry.at("outputs").size());
  for (std::size_t i = 0; i < entry.at("outputs").size(); ++i) {
    const json& expected = entry.at("outputs")[i];
    note(expected.at("name"), difference(result.outputs[i].value(), tensor(expected), Kind::result));
    if (!expected.contains("grad_out")) continue;
    const Tensor dy = tensor(expected, "grad_out");
    loss += dot(result.outputs[i].value(), dy);
    roots.push_back(result.outputs[i]);
    options.gradients.push_back(Variable(dy));
  }
  const double want = entry.at("loss").get<double>();
  const double tolerance =
      c.dtype == DType::f32 ? 1e-4 * (1 + std::abs(want)) : 1e-12 + 1e-9 * std::abs(want);
  if (!(std::abs(loss - want) <= tolerance)) note("loss", fmt::format("is {}, expected {}", loss, want));

  // Gradients, of inputs and then of parameters.
  std::vector<std::pair<std::string, Tensor>> expected;
  std::vector<Variable> wanted;
  for (const json& in : entry.at("inputs")) {
    if (!in.contains("grad")) continue;
    expected.emplace_back(in.at("name"), tensor(in, "grad"));
    wanted.push_back(c[in.at("name")]);
  }
  REQUIRE(result.parameters.size() == entry.at("params").size());
  for (const json& p : entry.at("params")) {
    for (const NamedParameter& own : result.parameters) {
      if (own.name != p.at("name").get<std::string>()) continue;
      expected.emplace_back(own.name, tensor(p, "grad"));
      wanted.push_back(own.variable);
    }
  }
  const std::vector<Variable> gradients = grad(roots, wanted, options);
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    Tensor actual = gradients[i].defined() ? gradients[i].value() : zeros_like(wanted[i].value());
    note("key part of the gradient of " + expected[i].first,
         take_noise_away(expected[i].first, actual, expected[i].second));
    note("gradient of " + expected[i].first, difference(actual, expected[i].second, Kind::gradient));
  }
  return report;
}

bool has_tag(const json& entry, const char* tag) {
  if (!entry.contains("tags")) return false;
  const json& tags = entry.at("tags");
  return std::find(tags.begin(), tags.end(), tag) != tags.end();
}

TEST_CASE("layers give PyTorch's values and gradients") {
  const json file = load("modules.json");
  const ModuleTable modules = all_modules();
  std::map<std::string, int> checked;
  std::string defined_otherwise;
  for (const json& entry : file.at("cases")) {
    const std::string id = entry.at("id"), name = entry.at("module");
    if (!modules.contains(name)) {
      FAIL_CHECK("no layer named " << name << " (case " << id << ")");
      continue;
    }
    // A query that may look at nothing gets zeros here, and uniform weights in the tutorial's code.
    if (has_tag(entry, "edge-hidden")) {
      defined_otherwise += " " + id;
      continue;
    }
    std::string report;
    try {
      report = run(entry, modules.at(name));
    } catch (const std::exception& error) {
      report = error.what();
    }
    CHECK_MESSAGE(report.empty(), id << ":" << report);
    ++checked[name];
  }
  std::string text = "reference modules, checked:";
  for (const auto& [name, count] : checked) text += fmt::format(" {} ({})", name, count);
  MESSAGE(text << "; rows without a visible key are defined otherwise:" << defined_otherwise);
  CHECK(!checked.empty());
}

}  // namespace
}  // namespace minigpt::reference
