#pragma once
// What explain_gradient sees of one forward and backward pass. Used by explain*.cpp only.

#include <unordered_map>
#include <vector>

#include "autograd/explain.h"
#include "autograd/node.h"
#include "autograd/watch.h"

namespace minigpt::detail {

// One use of a value: input number `input` of an operation.
struct Use {
  const Node* node;
  int input;
};

// An operation of the forward pass. Tensors are kept, so that no memory is used twice while it is told apart by address.
struct Executed {
  const char* op;
  const char* module;
  Tensor output;
  std::vector<Tensor> inputs;
  std::vector<bool> wants_gradient;  // of the inputs
  bool recorded;
};

class GradientTrace final : public Watcher {
 public:
  void on_forward(const char* op, const Variable& y, const Variable* inputs, std::size_t count) override;
  void on_backward(const Node& node, const Variable& dy) override { dy_[&node] = dy.value(); }
  void on_gradient(const Node& node, int input, const Variable& gradient) override;

  // Of a value: a node, or the GradMeta of a leaf.
  const std::vector<Use>& uses(const void* source) const;
  // The gradient that has arrived at a node's output; undefined if none did.
  Tensor dy(const Node* node) const;
  // What the node sent back to an input; undefined if nothing.
  Tensor sent(const Use& use) const;
  const std::vector<Executed>& executed() const { return executed_; }
  // Lists who uses what, for everything behind `loss`.
  void walk(const Variable& loss);
  const std::vector<const Node*>& nodes() const { return nodes_; }  // youngest first
  const std::vector<std::pair<const GradMeta*, Shape>>& leaves() const { return leaves_; }
  // What the output of a node was in the forward pass, by node.
  Tensor output(const Node* node) const;

 private:
  std::vector<Executed> executed_;
  std::unordered_map<const Node*, Tensor> dy_, outputs_;
  std::unordered_map<const Node*, std::vector<Tensor>> sent_;
  std::unordered_map<const void*, std::vector<Use>> uses_;
  std::vector<const Node*> nodes_;
  std::vector<std::pair<const GradMeta*, Shape>> leaves_;
};

// "transformer.h.0.mlp relu"
std::string label_of(const Node& node);
double rms_of(const Tensor& x);

// Which elements of a tensor are asked about: all, or those that are not 0 in `marks` (float32, the tensor's shape).
struct Region {
  Tensor marks;
  bool all() const { return !marks.defined(); }
};
// Are all elements of x inside the region exactly 0?
bool zero_inside(const Tensor& x, const Region& region);
// The elements of the use's output that depend on the region of its input, as far as shapes tell; else all.
Region forward_region(const Use& use, const Region& region);

// Why the node of this use sends zeros into the region although a gradient arrives.
GradientCause cause_at(const GradientTrace& trace, const Use& use, const Region& region,
                       const ExplainOptions& options);
// What weakens or strengthens gradients at this node without stopping them: saturated softmax, inactive units. May be empty.
std::vector<GradientCause> notes_at(const GradientTrace& trace, const Node& node);

}  // namespace minigpt::detail
