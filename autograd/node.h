#pragma once
// Node: one recorded operation, the unit of the backward pass.
//
// A node keeps edges to whatever made its inputs, the tensors its backward reads, and a backward function. It
// never owns the variable it produced, so there is no cycle: when the last variable of a graph goes, the
// graph goes.

#include <span>

#include "autograd/inline_list.h"
#include "autograd/variable.h"

namespace minigpt {

// The gradients of a node's inputs, in order; undefined where there is none.
class Grads : public InlineList<Variable, 4> {
 public:
  Grads() = default;
  template <class... Vs>
  requires(sizeof...(Vs) > 0 && (std::is_convertible_v<Vs, Variable> && ...)) Grads(
      Vs&&... gradients) {  // NOLINT(google-explicit-constructor): so that an op can write `return {dx, dw};`
    (push_back(std::forward<Vs>(gradients)), ...);
  }
};

// From a node to the source of one of its inputs.
struct Edge {
  Ref<Node> node;              // the node that made an inner value, or
  Ref<detail::GradMeta> leaf;  // the leaf; neither: the input needs no gradient
  Shape shape;                 // of the input: the gradient is summed back to it
  bool needed() const { return node || leaf; }
};

// A tensor kept for the backward pass, with the version it had.
struct SavedTensor {
  Tensor tensor;
  std::uint64_t version = 0;
  int input = 0;  // index of the input it is, or one of:
  static constexpr int kOutput = -1;
  static constexpr int kOther = -2;
};

struct Node : Pooled {
  Node(const char* op_name);
  virtual ~Node() = default;
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  // d(objective)/d(inputs) from dy = d(objective)/d(output).
  virtual Grads backward(const Variable& dy) = 0;

  // Drops edges and saved tensors after use. A second pass through this node is an error.
  void release();

  // Deletes iteratively: a chain of a million nodes must not recurse a million times.
  static void destroy(Node* node);

  std::int64_t references = 0;
  std::uint64_t sequence;  // creation number: an output is always younger than its inputs
  const char* op;          // "softmax"
  const char* module;      // path of the module that ran it, "" outside
  Shape shape;             // of the output
  DType dtype = DType::f32;
  bool released = false;
  bool queued = false;  // waits in a running backward pass
  InlineList<Edge, 3> inputs;
  std::span<SavedTensor>
      saved;  // what backward reads; lies in the derived node, which knows how many there are
  Ref<detail::GradMeta> meta;    // shared with the output variable if it retains its gradient or has hooks
  Variable pending;              // gradient of the output collected so far
  Node* next_waiting = nullptr;  // in the list of nodes about to be deleted
};

// What a backward function may read: only what its op listed in save().
class Saved {
 public:
  explicit Saved(Node& node) : node_(node) {}

  // Input i, with its history (so that create_graph can go on through it). It must have been saved.
  Variable input(int i) const;
  // The output, rebuilt around its node.
  Variable output() const;
  // The i-th tensor saved as such; undefined if it was absent.
  const Tensor& other(int i = 0) const { return find(SavedTensor::kOther, i).tensor; }
  // Input i and the output as plain numbers: all that is needed where nothing is recorded.
  const Tensor& input_value(int i) const { return find(i, 0).tensor; }
  const Tensor& output_value() const { return find(SavedTensor::kOutput, 0).tensor; }
  // How many inputs the op had.
  int inputs() const { return node_.inputs.size(); }
  // Does input i need a gradient at all?
  bool needs(int i) const { return node_.inputs[i].needed(); }
  // Shape of input i; known even where its value was not saved.
  const Shape& input_shape(int i) const { return node_.inputs[i].shape; }

 private:
  const SavedTensor& find(int kind, int nth) const;
  Node& node_;
};

}  // namespace minigpt
