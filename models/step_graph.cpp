#include "models/step_graph.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <set>

#include "autograd/node.h"
#include "models/tensor_summary.h"

namespace minigpt {
namespace {

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Every node behind `root`, oldest first.
std::vector<Node*> nodes_behind(Node* root) {
  std::set<Node*> seen = {root};
  std::vector<Node*> list = {root};
  for (std::size_t i = 0; i < list.size(); ++i)
    for (const Edge& edge : list[i]->inputs)
      if (edge.node && seen.insert(edge.node.get()).second) list.push_back(edge.node.get());
  std::sort(list.begin(), list.end(), [](const Node* a, const Node* b) { return a->sequence < b->sequence; });
  return list;
}

// Notes when each node's turn comes in the backward pass, and the gradient it was given.
class Watch {
 public:
  explicit Watch(std::size_t nodes) : seconds(nodes, 0), norm(nodes, 0), reached(nodes, false) {}

  void attach(Node& node, std::size_t index) {
    if (!node.meta) node.meta = Ref<detail::GradMeta>(new detail::GradMeta);
    node.meta->hooks.push_back([this, index](const Variable& gradient) {
      finish();
      norm[index] = summarise(gradient.value(), 1).norm;
      reached[index] = true;
      open_ = static_cast<std::ptrdiff_t>(index);
      start_ = now();  // looking at the gradient is not the operation's time
      return Variable();
    });
  }
  void finish() {
    if (open_ >= 0) seconds[static_cast<std::size_t>(open_)] = now() - start_;
    open_ = -1;
  }

  std::vector<double> seconds, norm;
  std::vector<bool> reached;

 private:
  std::ptrdiff_t open_ = -1;
  double start_ = 0;
};

}  // namespace

StepGraph trace_step(const Gpt& model, const Tensor& tokens, const Tensor& targets) {
  Gpt shared = model;  // a copy shares the parameters
  const std::vector<NamedParameter> parameters = shared.parameters();
  zero_grad(parameters);
  StepGraph graph;
  const double begin = now();
  const Variable loss = model.loss(tokens, targets);
  graph.forward_seconds = now() - begin;
  graph.loss = loss.item();
  const std::vector<Node*> nodes = nodes_behind(loss.node());
  std::map<const Node*, int> index;
  std::vector<Storage> counted;
  for (const NamedParameter& p : parameters) counted.push_back(p.variable.value().storage());
  for (Node* node : nodes) {
    index[node] = static_cast<int>(graph.nodes.size());
    StepNode& entry = graph.nodes.emplace_back();
    entry.op = node->op;
    entry.module = node->module;
    entry.shape = node->shape;
    entry.dtype = name_of(node->dtype);
    for (const SavedTensor& s : node->saved) {
      if (!s.tensor.defined()) continue;
      if (std::find(counted.begin(), counted.end(), s.tensor.storage()) != counted.end()) continue;
      counted.push_back(s.tensor.storage());
      entry.saved_bytes += static_cast<std::int64_t>(s.tensor.storage().bytes());
    }
    for (const Edge& edge : node->inputs) {
      if (edge.node) entry.inputs.push_back(index.at(edge.node.get()));
      if (edge.leaf) entry.leaves.emplace_back(edge.leaf->name);
    }
  }
  Watch watch(nodes.size());
  for (std::size_t i = 0; i < nodes.size(); ++i) watch.attach(*nodes[i], i);
  loss.backward();
  watch.finish();
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    graph.nodes[i].grad_norm = watch.norm[i];
    graph.nodes[i].has_gradient = watch.reached[i];
    graph.nodes[i].backward_seconds = watch.seconds[i];
    graph.backward_seconds += watch.seconds[i];
  }
  zero_grad(parameters);
  return graph;
}

}  // namespace minigpt
