#include "autograd/engine.h"

#include <algorithm>
#include <unordered_map>

#include "autograd/node.h"
#include "autograd/ops/add.h"
#include "autograd/ops/expand.h"
#include "autograd/record.h"
#include "tensor/elementwise.h"
#include "tensor/reduce.h"

namespace minigpt {

Variable sum_to(const Variable& gradient, const Shape& shape) {
  if (gradient.shape() == shape) return gradient;
  return record("sum_to", sum_to(gradient.value(), shape), {gradient}, save(),
                [](const Saved& s, const Variable& dy) { return Grads{expand(dy, s.input_shape(0))}; });
}

namespace {

using detail::GradMeta;
using detail::VariableImpl;

// Nobody else can see this gradient's numbers, so they may be changed in place.
bool owned_alone(const Variable& v) {
  const VariableImpl& impl = VariableImpl::of(v);
  return impl.references == 1 && !impl.node && impl.value.storage().use_count() == 1 &&
         impl.value.is_contiguous();
}

// sum = sum + gradient.
void accumulate(Variable& sum, Variable gradient, bool create_graph) {
  if (!sum.defined())
    sum = std::move(gradient);
  else if (create_graph)
    sum = sum + gradient;
  else if (owned_alone(sum))
    add_(sum.mutable_value(), gradient.value());
  else
    sum = Variable(add(sum.value(), gradient.value()));
}

void run_hooks(const GradMeta* meta, Variable& gradient) {
  if (!meta) return;
  for (std::size_t i = 0; i < meta->hooks.size(); ++i) {
    Variable replaced = meta->hooks[i](gradient);
    if (!replaced.defined()) continue;
    check(replaced.shape() == gradient.shape() && replaced.dtype() == gradient.dtype(), "hook",
          "a hook returned a gradient of shape {} in place of {}", replaced.shape(), gradient.shape());
    gradient = std::move(replaced);
  }
}

// One backward pass.
class Pass {
 public:
  Pass(bool retain_graph, bool create_graph)
      : retain_graph_(retain_graph || create_graph), create_graph_(create_graph) {}

  ~Pass() {  // after an error, leave no half-collected gradient behind
    for (const Ref<Node>& node : queue_) {
      node->pending = Variable();
      node->queued = false;
    }
    for (const Ref<GradMeta>& leaf : leaves_) {
      leaf->pending = Variable();
      leaf->touched = false;
    }
  }

  // Nodes older than this are left alone: nothing that is asked for lies behind them.
  void stop_before(std::uint64_t sequence) { oldest_ = sequence; }
  // Turns the pass into one that only answers: the gradients of the given variables are collected, in order,
  // and no leaf's grad is touched.
  void collect(const std::vector<Variable>& targets) {
    only_collect_ = true;
    for (const Variable& x : targets) {
      const VariableImpl& impl = VariableImpl::of(x);
      const void* source = impl.node ? static_cast<const void*>(impl.node.get()) : impl.meta.get();
      wanted_.emplace(source, collected_.size());
      collected_.push_back({impl.node, impl.node ? Ref<GradMeta>() : impl.meta, Variable()});
    }
  }

  void send(const Ref<Node>& node, const Ref<GradMeta>& leaf, Variable gradient) {
    if (leaf && only_collect_) {
      const auto [first, last] = wanted_.equal_range(leaf.get());
      for (auto it = first; it != last; ++it)
        accumulate(collected_[it->second].gradient, gradient, create_graph_);
      return;
    }
    if (leaf) {
      accumulate(leaf->pending, std::move(gradient), create_graph_);
      if (!leaf->touched) leaves_.push_back(leaf);
      leaf->touched = true;
      return;
    }
    if (!node || node->sequence < oldest_) return;
    accumulate(node->pending, std::move(gradient), create_graph_);
    if (node->queued) return;
    node->queued = true;
    queue_.push_back(node);
    std::push_heap(queue_.begin(), queue_.end(), younger_last);
  }

  void run() {
    const detail::Recording mode(create_graph_);
    const ProfileBackward phase;
    while (!queue_.empty()) {
      std::pop_heap(queue_.begin(), queue_.end(), younger_last);
      const Ref<Node> node = std::move(queue_.back());
      queue_.pop_back();
      node->queued = false;
      Variable dy = std::move(node->pending);
      node->pending = Variable();
      run_hooks(node->meta.get(), dy);
      if (only_collect_) {
        const auto [first, last] = wanted_.equal_range(node.get());
        for (auto it = first; it != last; ++it) collected_[it->second].gradient = dy;
      } else if (node->meta && node->meta->retain) {
        node->meta->grad = dy;
      }
      if (node->sequence > oldest_ || oldest_ == 0) visit(*node, std::move(dy));
    }
    for (const Ref<GradMeta>& leaf : leaves_)
      if (leaf->pending.defined()) run_hooks(leaf.get(), leaf->pending);
    for (Collected& c : collected_)
      if (c.leaf && c.gradient.defined()) run_hooks(c.leaf.get(), c.gradient);
  }

  // Adds what was collected to every leaf's grad.
  void store_leaves() {
    for (const Ref<GradMeta>& leaf : leaves_) {
      Variable gradient = std::exchange(leaf->pending, Variable());
      leaf->touched = false;
      if (!gradient.defined()) continue;  // a hook ran a backward pass of its own, which has stored it
      if (leaf->grad.defined()) {
        accumulate(leaf->grad, std::move(gradient), create_graph_);
      } else if (create_graph_ || owned_alone(gradient)) {
        leaf->grad = std::move(gradient);
      } else {
        // Two leaves may have been handed the same numbers (a + b); each gets its own, so that scaling one in
        // place does not scale the other.
        leaf->grad = Variable(gradient.value().clone());
      }
    }
    leaves_.clear();
  }

  // The gradient of the i-th target. The caller may scale it in place, so it shares its numbers with nobody.
  Variable take_collected(std::size_t i) {
    Variable gradient = std::exchange(collected_[i].gradient, Variable());
    if (!gradient.defined() || create_graph_ || owned_alone(gradient)) return gradient;
    return Variable(gradient.value().clone());
  }

 private:
  static bool younger_last(const Ref<Node>& a, const Ref<Node>& b) { return a->sequence < b->sequence; }

  void visit(Node& node, Variable dy) {
    check(!node.released, "backward",
          "the graph was already used: {} has released what it saved; pass retain_graph = true to the first "
          "call",
          node.op);
    Grads gradients = node.backward(dy);
    dy = Variable();
    check(gradients.size() == node.inputs.size(), node.op, "backward returned {} gradients for {} inputs",
          gradients.size(), node.inputs.size());
    for (int i = 0; i < gradients.size(); ++i) {
      Edge& edge = node.inputs[i];
      if (!edge.needed() || !gradients[i].defined()) continue;
      Variable gradient = std::move(gradients[i]);
      if (!(gradient.shape() == edge.shape)) gradient = sum_to(gradient, edge.shape);
      send(edge.node, edge.leaf, std::move(gradient));
    }
    if (!retain_graph_) node.release();
    profile_backward(node.op);
  }

  struct Collected {
    Ref<Node> node;
    Ref<GradMeta> leaf;
    Variable gradient;
  };

  bool retain_graph_;
  bool create_graph_;
  bool only_collect_ = false;
  std::uint64_t oldest_ = 0;
  std::vector<Ref<Node>> queue_;  // a heap, youngest node first
  std::vector<Ref<GradMeta>> leaves_;
  std::vector<Collected> collected_;
  std::unordered_multimap<const void*, std::size_t> wanted_;  // node or leaf -> its places in collected_
};

Variable start_gradient(std::string_view op, const Variable& root, const Variable& given) {
  check(root.defined() && root.requires_grad(), op,
        "nothing here requires a gradient: the value was made from constants, detached, or under NoGrad");
  if (!given.defined()) {
    check(root.numel() == 1, op, "needs a single element or an explicit gradient; shape is {}", root.shape());
    return Variable(ones_like(root.value()));
  }
  check(given.shape() == root.shape() && given.dtype() == root.dtype(), op,
        "the gradient is {} {}, the value {} {}", name_of(given.dtype()), given.shape(),
        name_of(root.dtype()), root.shape());
  return given;
}

void start(Pass& pass, const Variable& root, Variable gradient) {
  const VariableImpl& impl = VariableImpl::of(root);
  pass.send(impl.node, impl.node ? Ref<GradMeta>() : impl.meta, std::move(gradient));
}

}  // namespace

void Variable::backward(const BackwardOptions& options) const {
  Pass pass(options.retain_graph, options.create_graph);
  start(pass, *this, start_gradient("backward", *this, options.gradient));
  pass.run();
  pass.store_leaves();
}

std::vector<Variable> grad(const std::vector<Variable>& outputs, const std::vector<Variable>& inputs,
                           const GradOptions& options) {
  check(options.gradients.empty() || options.gradients.size() == outputs.size(), "grad",
        "{} gradients were given for {} outputs", options.gradients.size(), outputs.size());
  Pass pass(options.retain_graph, options.create_graph);
  std::uint64_t oldest = inputs.empty() ? 0 : ~std::uint64_t{0};
  for (const Variable& x : inputs) {
    check(x.defined() && x.requires_grad(), "grad", "an input does not require a gradient");
    oldest = std::min(oldest, x.node() ? x.node()->sequence : 0);
  }
  pass.collect(inputs);
  pass.stop_before(oldest);
  for (std::size_t i = 0; i < outputs.size(); ++i)
    start(pass, outputs[i],
          start_gradient("grad", outputs[i], options.gradients.empty() ? Variable() : options.gradients[i]));
  pass.run();
  std::vector<Variable> result;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    result.push_back(pass.take_collected(i));
    check(options.allow_unused || result.back().defined(), "grad",
          "the outputs do not depend on input {}; pass allow_unused = true to get an undefined gradient", i);
  }
  return result;
}

}  // namespace minigpt
