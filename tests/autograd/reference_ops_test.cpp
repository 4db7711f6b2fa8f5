// Every op against PyTorch: values and gradients of the cases in ops.json.

#include <doctest/doctest.h>

#include "autograd/engine.h"
#include "tensor/views.h"
#include "tests/autograd/reference_ops.h"

namespace minigpt::reference {
namespace {

using nlohmann::json;

OpTable all_ops() {
  OpTable all = elementwise_ops();
  all.merge(shape_ops());
  all.merge(fused_ops());
  all["graph"] = [](const OpCase& c) {
    return std::vector<Variable>{build_expression(c.attrs.at("expr").get<std::string>(), c)};
  };
  return all;
}

// The same numbers with the axes stored in the opposite order: no op may count on row-major inputs.
Tensor column_major(const Tensor& x) {
  Dims reversed;
  for (int i = x.rank() - 1; i >= 0; --i) reversed.push_back(i);
  return permute(permute(x, reversed).contiguous(), reversed);
}

struct Way {
  const char* name;
  bool column_major;  // inputs and incoming gradients
  bool create_graph;  // the backward pass is recorded, so fused ops go through their composition
};
constexpr Way kWays[] = {
    {"plain", false, false}, {"column-major", true, false}, {"create_graph", false, true}};

// What disagrees, one line each.
std::string run(const json& entry, const OpFunction& op, const Way& way) {
  const auto stored = [&](const json& j, const char* key) {
    const Tensor x = tensor(j, key);
    return way.column_major ? column_major(x) : x;
  };
  OpCase c;
  c.attrs = entry.at("attrs");
  std::vector<Variable> wanted;
  std::vector<Tensor> expected_gradients;
  for (const json& in : entry.at("inputs")) {
    const bool differentiable = in.contains("grad");
    c.names.push_back(in.at("name").get<std::string>());
    c.inputs.emplace_back(stored(in, "data"), differentiable);
    if (!differentiable) continue;
    wanted.push_back(c.inputs.back());
    expected_gradients.push_back(tensor(in, "grad"));
  }

  std::string report;
  const auto compare = [&](const std::string& what, const Tensor& actual, const Tensor& expected, Kind kind) {
    const std::string text = difference(actual, expected, kind);
    if (!text.empty()) report += fmt::format("\n  {}: {}", what, text);
  };
  const std::vector<Variable> outputs = op(c);
  const json& expected = entry.at("outputs");
  if (outputs.size() != expected.size())
    return fmt::format("{} outputs, expected {}", outputs.size(), expected.size());
  std::vector<Variable> roots;
  GradOptions options;
  options.create_graph = way.create_graph;
  options.allow_unused = true;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const std::string name = expected[i].at("name").get<std::string>();
    compare("value " + name, outputs[i].value(), tensor(expected[i]), Kind::result);
    if (!expected[i].contains("grad_out")) continue;
    roots.push_back(outputs[i]);
    options.gradients.push_back(Variable(stored(expected[i], "grad_out")));
  }
  if (wanted.empty()) return report;
  const std::vector<Variable> gradients = grad(roots, wanted, options);
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    // No path to an input means a gradient of zero.
    const Tensor actual = gradients[i].defined() ? gradients[i].value() : zeros_like(wanted[i].value());
    compare(fmt::format("gradient {}", i), actual, expected_gradients[i], Kind::gradient);
  }
  return report;
}

// Corners that an engine may leave out; ours are listed if it does.
bool may_be_left_out(const json& entry) {
  if (!entry.contains("tags")) return false;
  for (const json& tag : entry.at("tags")) {
    const std::string text = tag.get<std::string>();
    if (text.rfind("edge-", 0) == 0 || text == "strided" || text == "optional") return true;
  }
  return false;
}

TEST_CASE("every op gives PyTorch's values and gradients, for any layout and with recorded backward passes") {
  const OpTable ops = all_ops();
  const json file = load("ops.json");
  int checked = 0;
  std::string skipped;
  for (const json& entry : file.at("cases")) {
    const std::string id = entry.at("id").get<std::string>(), name = entry.at("op").get<std::string>();
    const auto found = ops.find(name);
    if (found == ops.end()) {
      FAIL_CHECK("no op named " << name << " (case " << id << ")");
      continue;
    }
    for (const Way& way : kWays) {
      std::string report;
      try {
        report = run(entry, found->second, way);
      } catch (const std::exception& error) {
        if (may_be_left_out(entry)) {
          skipped += fmt::format("\n  {} ({}): {}", id, way.name, error.what());
          continue;
        }
        report = error.what();
      }
      CHECK_MESSAGE(report.empty(), fmt::format("{} ({}): {}", id, way.name, report));
      ++checked;
    }
  }
  MESSAGE("reference ops: " << checked << " runs of " << file.at("cases").size()
                            << " cases; skipped:" << (skipped.empty() ? " none" : skipped));
  REQUIRE(checked > 0);
}

}  // namespace
}  // namespace minigpt::reference
