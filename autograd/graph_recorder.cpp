#include "autograd/graph_recorder.h"

#include <chrono>
#include <cmath>

#include "autograd/node.h"
#include "tensor/reduce.h"

namespace minigpt {
namespace {

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double norm(const Variable& gradient) { return std::sqrt(sum_of_squares(gradient.value())); }

}  // namespace

GraphRecorder::GraphRecorder() : last_(now()) {}

std::unordered_map<std::uint64_t, GraphRecorder::Measured>::iterator GraphRecorder::at(const Node& node) {
  return nodes_.try_emplace(node.sequence).first;
}

void GraphRecorder::on_forward(const char*, const Variable& y, const Variable*, std::size_t) {
  const double time = now();
  if (y.node()) at(*y.node())->second.forward = time - last_;
  last_ = now();
}

void GraphRecorder::on_backward(const Node& node, const Variable& dy) {
  Measured& m = at(node)->second;
  m.grad_norm = norm(dy);
  m.edge_norms.clear();
  m.aside = 0;
  m.started = now();
}

void GraphRecorder::on_gradient(const Node& node, int input, const Variable& gradient) {
  const double before = now();
  Measured& m = at(node)->second;
  m.edge_norms.resize(static_cast<std::size_t>(input) + 1, kNotMeasured);
  m.edge_norms.back() = norm(gradient);
  const Ref<detail::GradMeta>& leaf = node.inputs[input].leaf;
  if (leaf) leaves_.emplace(leaf.get(), leaf);
  m.aside += now() - before;
}

void GraphRecorder::on_backward_end(const Node& node) {
  const double time = now();
  Measured& m = at(node)->second;
  m.backward = time - m.started - m.aside;
  last_ = now();
}

void GraphRecorder::annotate(Graph& graph) const {
  for (GraphNode& n : graph.nodes) {
    if (const auto leaf = leaves_.find(n.source); leaf != leaves_.end() && leaf->second->grad.defined())
      n.grad_norm = norm(leaf->second->grad);
    const auto found = nodes_.find(n.sequence);
    if (n.leaf || found == nodes_.end()) continue;
    n.forward_seconds = found->second.forward;
    n.backward_seconds = found->second.backward;
    n.grad_norm = found->second.grad_norm;
  }
  for (GraphEdge& e : graph.edges) {
    const auto found = nodes_.find(graph.nodes[static_cast<std::size_t>(e.to)].sequence);
    if (found == nodes_.end()) continue;
    const std::vector<double>& norms = found->second.edge_norms;
    if (static_cast<std::size_t>(e.input) < norms.size())
      e.grad_norm = norms[static_cast<std::size_t>(e.input)];
  }
}

}  // namespace minigpt
