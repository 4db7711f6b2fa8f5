// Layers against PyTorch: the cases of modules.json.

#include <doctest/doctest.h>

#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "nn/embedding.h"
#include "nn/linear.h"
#include "nn/norm.h"
#include "tests/reference_files.h"

namespace minigpt::reference {
namespace {

using nlohmann::json;

struct Outcome {
  Variable out;
  std::vector<NamedParameter> parameters;
};
// Builds the layer of a case, loads its weights and runs it on x.
using Runner =
    std::function<Outcome(const json& config, const std::vector<NamedTensor>& weights, const Variable& x)>;

template <class M>
Outcome run_with(M& layer, DType dtype, const std::vector<NamedTensor>& weights, const auto& x) {
  convert_parameters(layer, dtype);
  std::vector<NamedParameter> parameters = named_parameters(layer);
  load_parameters(parameters, weights, "modules.json");
  return {layer.forward(x), parameters};
}

const std::map<std::string, Runner>& runners() {
  static const std::map<std::string, Runner> table = {
      {"Linear",
       [](const json& config, const std::vector<NamedTensor>& weights, const Variable& x) {
         Generator rng(1);
         Linear layer(config.at("in_features"), config.at("out_features"), config.at("bias"), rng);
         return run_with(layer, x.dtype(), weights, x);
       }},
      {"Embedding",
       [](const json& config, const std::vector<NamedTensor>& weights, const Variable& index) {
         Generator rng(1);
         Embedding layer(config.at("num_embeddings"), config.at("embedding_dim"), rng);
         return run_with(layer, weights.at(0).tensor.dtype(), weights, index.value());
       }},
      {"LayerNorm",
       [](const json& config, const std::vector<NamedTensor>& weights, const Variable& x) {
         LayerNorm layer(config.at("normalized_shape").at(0), true, config.at("affine"));
         layer.eps = config.at("eps");
         return run_with(layer, x.dtype(), weights, x);
       }},
  };
  return table;
}

// Layers that a character-level GPT has no use for.
const std::set<std::string> kNotBuilt = {"MultiheadAttention",      "TransformerEncoderLayer",
                                         "TransformerDecoderLayer", "TransformerEncoder",
                                         "TutorialAttention",       "TutorialBlock"};

// What disagrees, one line each.
std::string run(const json& entry, const Runner& runner) {
  std::vector<NamedTensor> weights;
  for (const json& p : entry.at("params")) weights.push_back({p.at("name").get<std::string>(), tensor(p)});
  REQUIRE(entry.at("inputs").size() == 1);
  REQUIRE(entry.at("outputs").size() == 1);
  const json& in = entry["inputs"][0];
  const json& expected = entry["outputs"][0];
  const Variable x(tensor(in), in.contains("grad"));
  const Outcome result = runner(entry.at("config"), weights, x);
  const Tensor dy = tensor(expected, "grad_out");

  std::string report;
  const auto compare = [&](const std::string& what, const Tensor& actual, const Tensor& wanted, Kind kind) {
    const std::string text = difference(actual, wanted, kind);
    if (!text.empty()) report += fmt::format("\n  {} {}", what, text);
  };
  compare("out", result.out.value(), tensor(expected), Kind::result);
  // loss = sum(out * grad_out), so grad_out is the gradient that comes in.
  const std::vector<double> y = result.out.value().to(DType::f64).to_vector<double>(),
                            v = dy.to(DType::f64).to_vector<double>();
  double loss = 0;
  for (std::size_t i = 0; i < y.size(); ++i) loss += y[i] * v[i];
  const double want = entry.at("loss").get<double>();
  const double tolerance =
      dy.dtype() == DType::f32 ? 1e-4 * (1 + std::abs(want)) : 1e-12 + 1e-9 * std::abs(want);
  if (!(std::abs(loss - want) <= tolerance)) report += fmt::format("\n  loss is {}, expected {}", loss, want);

  BackwardOptions options;
  options.gradient = Variable(dy);
  result.out.backward(options);
  if (in.contains("grad")) compare("gradient of x", x.grad().value(), tensor(in, "grad"), Kind::gradient);
  for (const json& p : entry.at("params"))
    for (const NamedParameter& own : result.parameters)
      if (own.name == p.at("name").get<std::string>())
        compare("gradient of " + own.name, own.variable.grad().value(), tensor(p, "grad"), Kind::gradient);
  return report;
}

TEST_CASE("layers give PyTorch's values and gradients") {
  const json file = load("modules.json");
  std::map<std::string, int> checked, not_built;
  for (const json& entry : file.at("cases")) {
    const std::string id = entry.at("id"), name = entry.at("module");
    if (kNotBuilt.contains(name)) {
      ++not_built[name];
      continue;
    }
    if (!runners().contains(name)) {
      FAIL_CHECK("no layer named " << name << " (case " << id << ")");
      continue;
    }
    const std::string report = run(entry, runners().at(name));
    CHECK_MESSAGE(report.empty(), id << ":" << report);
    ++checked[name];
  }
  std::string text = "reference modules, checked:";
  for (const auto& [name, count] : checked) text += fmt::format(" {} ({})", name, count);
  text += "; layers we do not have:";
  for (const auto& [name, count] : not_built) text += fmt::format(" {} ({})", name, count);
  MESSAGE(text);
  CHECK(checked.size() == runners().size());
}

}  // namespace
}  // namespace minigpt::reference
