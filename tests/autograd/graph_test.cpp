#include "autograd/graph.h"

#include <doctest/doctest.h>

#include <cmath>

#include "autograd/engine.h"
#include "autograd/graph_recorder.h"
#include "autograd/ops.h"
#include "autograd/scope.h"
#include "tensor/error.h"

namespace minigpt::test {
namespace {

Variable leaf(std::initializer_list<float> values, const char* name = "") {
  Variable v(Tensor::from<float>(values, {static_cast<std::int64_t>(values.size())}), true);
  if (*name) v.set_name(name);
  return v;
}

// loss = sum(exp(w) * w) with the product inside a module.
struct Small {
  Variable w = leaf({0, 1, 2}, "w");
  Variable loss;
  Small() {
    const Variable e = exp(w);
    const Scope scope(intern("layer.0"));
    loss = sum(e * w);
  }
};

TEST_CASE("graph: operations oldest first, leaves by name, one edge per input that wants a gradient") {
  const Small small;
  const Graph graph = walk_graph(small.loss);
  REQUIRE(graph.nodes.size() == 4);
  CHECK(graph.nodes[0].leaf);
  CHECK(graph.nodes[0].label() == "w");
  CHECK(graph.nodes[0].shape == Shape{3});
  CHECK(graph.nodes[1].label() == "exp");
  CHECK(graph.nodes[2].label() == "layer.0 mul");
  CHECK(graph.nodes[3].label() == "layer.0 sum");
  CHECK(graph.nodes[3].shape == Shape{});
  CHECK(graph.nodes[1].sequence < graph.nodes[2].sequence);
  REQUIRE(graph.edges.size() == 4);
  CHECK(graph.edges[0].from == 0);  // w -> exp
  CHECK(graph.edges[1].from == 1);  // exp -> mul, its first input
  CHECK(graph.edges[2].from == 0);  // w -> mul, its second
  CHECK(graph.edges[2].input == 1);
  CHECK(graph.edges[3].to == 3);
}

TEST_CASE("graph: saved bytes, and those that nobody else holds") {
  const Small small;
  const Graph graph = walk_graph(small.loss);
  CHECK(graph.nodes[1].saved_bytes == 12);  // exp keeps its output
  CHECK(graph.nodes[1].kept_bytes == 12);
  CHECK(graph.nodes[2].saved_bytes == 24);  // mul keeps both inputs: what exp holds already, and a leaf
  CHECK(graph.nodes[2].kept_bytes == 0);
  CHECK(graph.kept_bytes() == 12);
}

TEST_CASE("graph: a leaf alone; a constant has no graph; a used one has none any more") {
  const Graph graph = walk_graph(leaf({1}, "x"));
  CHECK(graph.nodes.size() == 1);
  CHECK(graph.edges.empty());
  CHECK_THROWS_WITH_AS(walk_graph(Variable(Tensor::scalar(1.0F))),
                       "[graph] the value requires no gradient: nothing was recorded for it", Error);
  const Small small;
  small.loss.backward();
  CHECK_THROWS_WITH_AS(walk_graph(small.loss),
                       "[graph] sum has released its inputs: walk the graph before backward()", Error);
}

TEST_CASE("graph: walking does not depend on the depth of the graph") {
  Variable x = leaf({1});
  for (int i = 0; i < 1000000; ++i) x = neg(x);
  CHECK(walk_graph(x).nodes.size() == 1000001);
}

TEST_CASE("graph recorder: gradient norms and times, and the same gradients as without it") {
  const Small plain;
  plain.loss.backward();
  GraphRecorder recorder;
  const Small small;
  Graph graph = walk_graph(small.loss);
  small.loss.backward();
  recorder.annotate(graph);
  CHECK(small.w.grad().value().to_vector<float>() == plain.w.grad().value().to_vector<float>());
  // d sum = 1;  d(e w)/de = w = (0, 1, 2);  d/dw = e
  CHECK(graph.nodes[3].grad_norm == doctest::Approx(1));
  CHECK(graph.nodes[2].grad_norm == doctest::Approx(std::sqrt(3.0)));
  CHECK(graph.nodes[1].grad_norm == doctest::Approx(std::sqrt(5.0)));
  CHECK(graph.edges[1].grad_norm == doctest::Approx(std::sqrt(5.0)));
  CHECK(graph.edges[2].grad_norm == doctest::Approx(std::sqrt(1 + std::exp(2.0) + std::exp(4.0))));
  double total = 0;
  for (const float g : small.w.grad().value().to_vector<float>()) total += static_cast<double>(g) * g;
  CHECK(graph.nodes[0].grad_norm == doctest::Approx(std::sqrt(total)));
  for (int i = 1; i < 4; ++i) {
    CHECK(graph.nodes[static_cast<std::size_t>(i)].forward_seconds > 0);
    CHECK(graph.nodes[static_cast<std::size_t>(i)].backward_seconds > 0);
  }
}

TEST_CASE("graph recorder: without it nothing is measured; what ran before it is not measured either") {
  const Small small;
  Graph graph = walk_graph(small.loss);
  CHECK(std::isnan(graph.nodes[1].grad_norm));
  GraphRecorder recorder;
  recorder.annotate(graph);
  CHECK(std::isnan(graph.nodes[1].forward_seconds));
  CHECK(std::isnan(graph.edges[0].grad_norm));
}

TEST_CASE("graph: folded, a module is one node with the sum of what it keeps") {
  const Small small;
  const Graph folded = fold_by_module(walk_graph(small.loss));
  REQUIRE(folded.nodes.size() == 3);
  CHECK(folded.nodes[0].label() == "w");
  CHECK(folded.nodes[1].label() == "exp");  // outside of any module
  CHECK(folded.nodes[2].label() == "layer.0 mul, sum");
  CHECK(folded.nodes[2].saved_bytes == 24);
  CHECK(folded.nodes[2].shape == Shape{});
  CHECK(folded.edges.size() == 3);  // the one between mul and sum is inside
  const Graph shallow = fold_by_module(walk_graph(small.loss), 1, false);
  REQUIRE(shallow.nodes.size() == 2);
  CHECK(shallow.nodes[1].label() == "layer mul, sum");
  CHECK(shallow.edges.size() == 1);
}

TEST_CASE("gradient_of: any tensor by name, leaf or inner, without touching grad()") {
  const Small small;
  CHECK(gradient_of(small.loss, "exp").value().to_vector<float>() == std::vector<float>{0, 1, 2});
  CHECK(gradient_of(small.loss, "layer.0 mul").value().to_vector<float>() == std::vector<float>{1, 1, 1});
  CHECK(gradient_of(small.loss, "layer.0").item() == 1);
  const Variable dw = gradient_of(small.loss, "w", true);  // e^w (w + 1)
  CHECK(dw.value().at({0}) == doctest::Approx(1));
  CHECK_FALSE(small.w.has_grad());
  // ... and of that again: the trace of the second derivative, e^w (w + 2)
  CHECK(gradient_of(sum(dw), "w").value().at({0}) == doctest::Approx(2));
  CHECK_THROWS_WITH_AS(gradient_of(small.loss, "layer.1"),
                       "[gradient_of] there is no 'layer.1' in the graph; the nearest name is 'layer.0 mul'",
                       Error);
}

}  // namespace
}  // namespace minigpt::test
