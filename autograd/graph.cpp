#include "autograd/graph.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "autograd/engine.h"
#include "autograd/node.h"

namespace minigpt {
namespace {

using detail::GradMeta;
using detail::VariableImpl;

std::int64_t bytes_of(const Tensor& t) { return t.numel() * size_of(t.dtype()); }

// What there is behind an output.
struct Found {
  std::vector<Node*> nodes;  // oldest first
  std::vector<GradMeta*> leaves;
  std::unordered_map<const GradMeta*, std::pair<Shape, DType>> leaf_types;
};

Found find_nodes(const Variable& output) {
  check(output.defined() && output.requires_grad(), "graph",
        "the value requires no gradient: nothing was recorded for it");
  Found found;
  std::vector<Node*> waiting;
  std::unordered_set<const Node*> seen;
  const auto meet = [&](Node* node) {
    if (seen.insert(node).second) waiting.push_back(node);
  };
  if (output.node()) meet(output.node());
  while (!waiting.empty()) {
    Node* node = waiting.back();
    waiting.pop_back();
    check(!node->released, "graph", "{} has released its inputs: walk the graph before backward()", node->op);
    found.nodes.push_back(node);
    for (const Edge& edge : node->inputs)
      if (edge.node) meet(edge.node.get());
  }
  std::sort(found.nodes.begin(), found.nodes.end(),
            [](const Node* a, const Node* b) { return a->sequence < b->sequence; });
  const auto add_leaf = [&](GradMeta* leaf, const Shape& shape, DType dtype) {
    if (found.leaf_types.emplace(leaf, std::pair(shape, dtype)).second) found.leaves.push_back(leaf);
  };
  for (const Node* node : found.nodes)
    for (const Edge& edge : node->inputs)
      if (edge.leaf) add_leaf(edge.leaf.get(), edge.shape, node->dtype);
  if (!output.node()) add_leaf(VariableImpl::of(output).meta.get(), output.shape(), output.dtype());
  return found;
}

// Is this saved tensor one of the node's leaf inputs?
bool is_leaf_input(const Node& node, const SavedTensor& s) {
  return s.input >= 0 && node.inputs[s.input].leaf;
}

GraphNode describe(const Node& node, std::unordered_set<const void*>& held) {
  GraphNode n;
  n.source = &node;
  n.op = node.op;
  n.module = node.module;
  n.sequence = node.sequence;
  n.shape = node.shape;
  n.dtype = node.dtype;
  for (const SavedTensor& s : node.saved) {
    if (!s.tensor.defined()) continue;
    n.saved_bytes += bytes_of(s.tensor);
    if (!is_leaf_input(node, s) && held.insert(s.tensor.storage().data()).second)
      n.kept_bytes += bytes_of(s.tensor);
  }
  return n;
}

}  // namespace

std::string GraphNode::label() const {
  if (leaf) return *name ? name : "leaf";
  return *module && *op ? fmt::format("{} {}", module, op) : *op ? op : module;
}

std::int64_t Graph::kept_bytes() const {
  std::int64_t total = 0;
  for (const GraphNode& n : nodes) total += n.kept_bytes;
  return total;
}

Graph walk_graph(const Variable& output) {
  const Found found = find_nodes(output);
  Graph graph;
  std::unordered_map<const void*, int> index;
  for (const GradMeta* leaf : found.leaves) {
    index.emplace(leaf, static_cast<int>(graph.nodes.size()));
    GraphNode& n = graph.nodes.emplace_back();
    n.leaf = true;
    n.source = leaf;
    n.name = leaf->name;
    n.shape = found.leaf_types.at(leaf).first;
    n.dtype = found.leaf_types.at(leaf).second;
  }
  // A view of a parameter (its transpose, say) shares the parameter's memory: not kept by the operation that saves it.
  std::unordered_set<const void*> held;
  for (const Node* node : found.nodes)
    for (const SavedTensor& s : node->saved)
      if (s.tensor.defined() && is_leaf_input(*node, s)) held.insert(s.tensor.storage().data());
  for (const Node* node : found.nodes) {
    const int to = static_cast<int>(graph.nodes.size());
    index.emplace(node, to);
    graph.nodes.push_back(describe(*node, held));
    for (int i = 0; i < node->inputs.size(); ++i) {
      const Edge& edge = node->inputs[i];
      if (!edge.needed()) continue;
      const void* source =
          edge.node ? static_cast<const void*>(edge.node.get()) : static_cast<const void*>(edge.leaf.get());
      graph.edges.push_back({index.at(source), to, i, edge.shape, kNotMeasured});
    }
  }
  return graph;
}

Variable gradient_of(const Variable& scalar, std::string_view name, bool create_graph) {
  const Found found = find_nodes(scalar);
  Variable target;
  std::vector<std::string> names;
  for (GradMeta* leaf : found.leaves) {
    if (leaf->name == name) target = VariableImpl::make(Tensor(), {}, Ref<GradMeta>(leaf));
    names.emplace_back(leaf->name);
  }
  for (Node* node : found.nodes) {  // the last one of the name wins
    const std::string label = *node->module ? fmt::format("{} {}", node->module, node->op) : node->op;
    if (label == name || name == node->module) target = VariableImpl::make(Tensor(), Ref<Node>(node));
    names.push_back(label);
    names.emplace_back(node->module);
  }
  if (!target.defined()) {
    const auto shared = [&](const std::string& other) {
      return std::mismatch(name.begin(), name.end(), other.begin(), other.end()).first - name.begin();
    };
    const auto nearest =
        std::max_element(names.begin(), names.end(),
                         [&](const std::string& a, const std::string& b) { return shared(a) < shared(b); });
    fail("gradient_of", "there is no '{}' in the graph; the nearest name is '{}'", name,
         nearest == names.end() ? "" : *nearest);
  }
  GradOptions options;
  options.retain_graph = true;
  options.create_graph = create_graph;
  return grad({scalar}, {target}, options).front();
}

}  // namespace minigpt
