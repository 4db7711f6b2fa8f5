#include "autograd/node.h"

#include "autograd/record.h"
#include "autograd/scope.h"

namespace minigpt {
namespace {

// Numbers are taken per thread: a graph lives in one thread, and only the order inside it matters.
thread_local std::uint64_t next_sequence = 1;

[[noreturn]] void changed_in_place(const Node& node, const SavedTensor& s) {
  std::string what = "a value";
  if (s.input >= 0) what = fmt::format("input {}", s.input);
  if (s.input == SavedTensor::kOutput) what = "the output";
  fail(
      node.op,
      "{} was changed in place after the forward pass saved it (version {}, now {}): backward would be wrong",
      what, s.version, s.tensor.version());
}

}  // namespace

Node::Node(const char* op_name) : sequence(next_sequence++), op(op_name), module(current_scope()) {}

void Node::release() {
  inputs.clear();
  for (SavedTensor& s : saved) s.tensor.reset();
  saved = {};
  released = true;
}

void Node::destroy(Node* node) {
  // Deleting a node drops its edges, which may drop the nodes behind them. Those are put on a list that the
  // outermost call works through, so the depth of the stack does not depend on the depth of the graph.
  static thread_local Node* waiting = nullptr;
  static thread_local bool draining = false;
  node->next_waiting = waiting;
  waiting = node;
  if (draining) return;
  draining = true;
  while (waiting) {
    Node* next = waiting;
    waiting = next->next_waiting;
    delete next;
  }
  draining = false;
}

const SavedTensor& Saved::find(int kind, int nth) const {
  for (const SavedTensor& s : node_.saved) {
    if (s.input != kind || nth-- > 0) continue;
    if (s.tensor.defined() && s.tensor.version() != s.version) [[unlikely]]
      changed_in_place(node_, s);
    return s;
  }
  fail(node_.op, "backward reads a tensor that was not saved");
}

Variable Saved::input(int i) const {
  const SavedTensor& s = find(i, 0);
  if (!s.tensor.defined()) return Variable();
  const Edge& edge = node_.inputs[i];
  return detail::VariableImpl::make(Tensor(s.tensor), edge.node, edge.leaf);
}

Variable Saved::output() const {
  return detail::VariableImpl::make(Tensor(output_value()), Ref<Node>(&node_), node_.meta);
}

namespace detail {

static void add_edge(Node& node, const Variable& input) {
  Edge& edge = node.inputs.add();
  if (!input.defined()) return;
  const VariableImpl& impl = VariableImpl::of(input);
  if (impl.node)
    edge.node = impl.node;
  else if (impl.meta && impl.meta->leaf)
    edge.leaf = impl.meta;
  edge.shape = impl.value.shape();
}

Variable attach(Ref<Node> node, const Variable* inputs, std::size_t count, Tensor&& value) {
  for (std::size_t i = 0; i < count; ++i) add_edge(*node, inputs[i]);
  node->shape = value.shape();
  node->dtype = value.dtype();
  return VariableImpl::make(std::move(value), std::move(node));
}

}  // namespace detail
}  // namespace minigpt
