#include "models/training_graph.h"

#include <doctest/doctest.h>

#include <cmath>
#include <set>

#include "autograd/engine.h"
#include "tests/models/tiny_models.h"

namespace minigpt::test {
namespace {

TrainConfig tiny_step() {
  TrainConfig config = tiny_run();
  config.model = tiny_config();
  config.model.dropout = 0.1;
  return config;
}

TEST_CASE(
    "training graph: every parameter is a leaf with a gradient norm, every module of the model has a node") {
  const TrainConfig config = tiny_step();
  Generator rng(1);
  Gpt gpt(config.model, rng);
  const std::vector<float> before = weights_of(gpt);
  const TrainingGraph step =
      graph_of_step(gpt, config, tokens_for(config.model, 2, 4), tokens_for(config.model, 2, 4, 2));
  CHECK(std::isfinite(step.loss));
  std::set<std::string> leaves, modules;
  for (const GraphNode& n : step.graph.nodes) {
    CAPTURE(n.label());
    if (n.leaf) leaves.insert(n.name);
    if (!n.leaf) modules.insert(n.module);
    CHECK(std::isfinite(n.grad_norm));
    if (!n.leaf) CHECK(n.forward_seconds > 0);
    if (!n.leaf) CHECK(n.backward_seconds > 0);
  }
  for (const NamedParameter& p : gpt.parameters()) {
    CHECK_MESSAGE(leaves.contains(p.name), p.name);
    CHECK_FALSE(p.variable.has_grad());  // as before
  }
  for (const char* module : {"transformer.wte", "transformer.h.1.attn", "transformer.h.0.mlp", "lm_head"})
    CHECK_MESSAGE(modules.contains(module), module);
  CHECK(step.graph.kept_bytes() > 0);
  CHECK(weights_of(gpt) == before);
}

TEST_CASE(
    "training graph: without a backward pass there are times but no gradients; recomputed blocks keep less") {
  TrainConfig config = tiny_step();
  Generator rng(1);
  Gpt gpt(config.model, rng);
  const Tensor tokens = tokens_for(config.model, 2, 4);
  const TrainingGraph plain = graph_of_step(gpt, config, tokens, tokens, false);
  CHECK(plain.graph.nodes.back().op == std::string("cross_entropy"));
  CHECK(std::isnan(plain.graph.nodes.back().grad_norm));
  CHECK(plain.graph.nodes.back().forward_seconds > 0);
  config.recompute = true;
  CHECK(graph_of_step(gpt, config, tokens, tokens, false).graph.kept_bytes() < plain.graph.kept_bytes());
}

}  // namespace
}  // namespace minigpt::test
