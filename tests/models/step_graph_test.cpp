#include "models/step_graph.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "autograd/ops/cross_entropy.h"
#include "models/tensor_summary.h"
#include "tests/models/tiny_models.h"

namespace minigpt::test {
namespace {

TEST_CASE("step graph: every input is an older node, and every parameter is read by some node") {
  Gpt gpt = lively_model(tiny_config(), 1);
  const StepGraph graph = trace_step(gpt, tokens_for(gpt.config, 2, 4), tokens_for(gpt.config, 2, 4, 2));
  REQUIRE(graph.nodes.size() > 10);
  CHECK(graph.nodes.back().op == "cross_entropy");
  CHECK(graph.nodes.back().shape == Shape{});
  CHECK(graph.nodes.back().grad_norm == 1);
  std::vector<std::string> leaves;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const StepNode& node = graph.nodes[i];
    CAPTURE(node.op);
    for (const int input : node.inputs) CHECK(input < static_cast<int>(i));
    CHECK(node.has_gradient);
    CHECK(node.backward_seconds > 0);
    leaves.insert(leaves.end(), node.leaves.begin(), node.leaves.end());
  }
  for (const NamedParameter& p : gpt.parameters()) {
    CHECK_MESSAGE(std::find(leaves.begin(), leaves.end(), p.name) != leaves.end(), p.name);
    CHECK_FALSE(p.variable.has_grad());
  }
}

TEST_CASE("step graph: the gradient of the logits has the length it has by retain_grad") {
  Gpt gpt = lively_model(tiny_config(), 2);
  const Tensor tokens = tokens_for(gpt.config, 1, 4), targets = tokens_for(gpt.config, 1, 4, 2);
  const StepGraph graph = trace_step(gpt, tokens, targets);
  const Variable logits = gpt.forward(tokens);
  Variable kept = reshape(logits, {4, 5});
  kept.retain_grad();
  cross_entropy(kept, reshape(targets, {4})).backward();
  const auto found = std::find_if(graph.nodes.begin(), graph.nodes.end(),
                                  [](const StepNode& n) { return n.module == "lm_head"; });
  REQUIRE(found != graph.nodes.end());
  CHECK(found->grad_norm == doctest::Approx(summarise(kept.grad().value()).norm));
}

}  // namespace
}  // namespace minigpt::test
