#include "autograd/engine.h"

#include <algorithm>
#include <memory>
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
bool owned_alone(const Variable& gradient) {
  const VariableImpl& impl = VariableImpl::of(gradient);
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

// A node whose gradient has begun to arrive.
struct Waiting {
  std::uint64_t sequence;  // of the node
  Ref<Node> node;
};

// The lists of a pass. A finished pass leaves them to the next one in its thread, so that a training step
// does not allocate.
struct Lists {
  std::vector<Waiting> queue;  // a heap, youngest node first
  std::vector<Ref<GradMeta>> leaves;
};
thread_local std::unique_ptr<Lists> spare_lists;

// What grad() asked for: the gradients of some nodes and leaves, in order.
class Collection {
 public:
  explicit Collection(const std::vector<Variable>& targets) {
    for (const Variable& x : targets) {
      const VariableImpl& impl = VariableImpl::of(x);
      const void* source = impl.node ? static_cast<const void*>(impl.node.get()) : impl.meta.get();
      wanted_.emplace(source, items_.size());
      items_.push_back({impl.node, impl.node ? Ref<GradMeta>() : impl.meta, Variable()});
    }
  }

  void set(const Node* node, const Variable& gradient) {
    const auto [first, last] = wanted_.equal_range(node);
    for (auto it = first; it != last; ++it) items_[it->second].gradient = gradient;
  }
  void add(const GradMeta* leaf, const Variable& gradient, bool create_graph) {
    const auto [first, last] = wanted_.equal_range(leaf);
    for (auto it = first; it != last; ++it) accumulate(items_[it->second].gradient, gradient, create_graph);
  }
  void run_leaf_hooks() {
    for (Item& item : items_)
      if (item.leaf && item.gradient.defined()) run_hooks(item.leaf.get(), item.gradient);
  }
  // The gradient of the i-th target. The caller may scale it in place, so it shares its numbers with nobody.
  Variable take(std::size_t i, bool create_graph) {
    Variable gradient = std::exchange(items_[i].gradient, Variable());
    if (!gradient.defined() || create_graph || owned_alone(gradient)) return gradient;
    return Variable(gradient.value().clone());
  }

 private:
  struct Item {
    Ref<Node> node;
    Ref<GradMeta> leaf;
    Variable gradient;
  };
  std::vector<Item> items_;
  std::unordered_multimap<const void*, std::size_t> wanted_;  // node or leaf -> its places in items_
};

// One backward pass.
class Pass {
 public:
  // With a collection the pass only answers: gradients go there, and no leaf's grad is touched.
  Pass(bool retain_graph, bool create_graph, Collection* collection = nullptr)
      : retain_graph_(retain_graph || create_graph),
        create_graph_(create_graph),
        collection_(collection),
        owned_lists_(spare_lists ? std::move(spare_lists) : std::make_unique<Lists>()),
        lists_(*owned_lists_) {}

  ~Pass() {  // after an error, leave no half-collected gradient behind
    for (const Waiting& waiting : lists_.queue) {
      waiting.node->pending = Variable();
      waiting.node->queued = false;
    }
    for (const Ref<GradMeta>& leaf : lists_.leaves) {
      leaf->pending = Variable();
      leaf->touched = false;
    }
    lists_.queue.clear();
    lists_.leaves.clear();
    spare_lists = std::move(owned_lists_);
  }
  Pass(const Pass&) = delete;
  Pass& operator=(const Pass&) = delete;

  // Nodes older than this are left alone: nothing that is asked for lies behind them.
  void stop_before(std::uint64_t sequence) { oldest_ = sequence; }

  void send(const Ref<Node>& node, const Ref<GradMeta>& leaf, Variable gradient) {
    if (leaf && collection_) return collection_->add(leaf.get(), gradient, create_graph_);
    if (leaf) {
      accumulate(leaf->pending, std::move(gradient), create_graph_);
      if (!leaf->touched) lists_.leaves.push_back(leaf);
      leaf->touched = true;
      return;
    }
    if (!node || node->sequence < oldest_) return;
    accumulate(node->pending, std::move(gradient), create_graph_);
    if (node->queued) return;
    node->queued = true;
    lists_.queue.push_back({node->sequence, node});
    std::push_heap(lists_.queue.begin(), lists_.queue.end(), younger_last);
  }

  void run() {
    const detail::Recording mode(create_graph_);
    const ProfileBackward phase;
    const detail::WatchBackward quiet;
    std::vector<Waiting>& queue = lists_.queue;
    while (!queue.empty()) {
      std::pop_heap(queue.begin(), queue.end(), younger_last);
      const Ref<Node> node = std::move(queue.back().node);
      queue.pop_back();
      node->queued = false;
      Variable dy = std::move(node->pending);
      run_hooks(node->meta.get(), dy);
      if (collection_)
        collection_->set(node.get(), dy);
      else if (node->meta && node->meta->retain)
        node->meta->grad = dy;
      if (node->sequence > oldest_ || oldest_ == 0) visit(*node, std::move(dy));
    }
    for (const Ref<GradMeta>& leaf : lists_.leaves)
      if (leaf->pending.defined()) run_hooks(leaf.get(), leaf->pending);
    if (collection_) collection_->run_leaf_hooks();
  }

  // Adds what was collected to every leaf's grad.
  void store_leaves() {
    for (const Ref<GradMeta>& leaf : lists_.leaves) {
      Variable gradient = std::move(leaf->pending);
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
    lists_.leaves.clear();
  }

 private:
  static bool younger_last(const Waiting& a, const Waiting& b) { return a.sequence < b.sequence; }

  void visit(Node& node, Variable dy) {
    check(!node.released, "backward",
          "the graph was already used: {} has released what it saved; pass retain_graph = true to the first "
          "call",
          node.op);
    const bool watched = detail::watchers.backward;
    if (watched) [[unlikely]]
      detail::tell_backward(node, dy);
    Grads gradients = node.backward(dy);
    if (watched) [[unlikely]]
      detail::tell_gradients(node, dy, gradients);
    dy = Variable();
    check(gradients.size() == node.inputs.size(), node.op, "backward returned {} gradients for {} inputs",
          gradients.size(), node.inputs.size());
    for (int i = 0; i < gradients.size(); ++i) {
      Edge& edge = node.inputs[i];
      if (!edge.needed() || !gradients[i].defined()) continue;
      Variable gradient = std::move(gradients[i]);
      if (!(gradient.shape() == edge.shape)) gradient = sum_to(gradient, edge.shape);
      if (watched) [[unlikely]]
        detail::tell_gradient(node, i, gradient);
      send(edge.node, edge.leaf, std::move(gradient));
    }
    if (watched) [[unlikely]]
      detail::tell_backward_end(node);
    if (!retain_graph_) node.release();
    profile_backward(node.op);
  }

  bool retain_graph_;
  bool create_graph_;
  std::uint64_t oldest_ = 0;
  Collection* collection_;
  std::unique_ptr<Lists> owned_lists_;
  Lists& lists_;
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
  std::uint64_t oldest = inputs.empty() ? 0 : ~std::uint64_t{0};
  for (const Variable& x : inputs) {
    check(x.defined() && x.requires_grad(), "grad", "an input does not require a gradient");
    oldest = std::min(oldest, x.node() ? x.node()->sequence : 0);
  }
  Collection collection(inputs);
  Pass pass(options.retain_graph, options.create_graph, &collection);
  pass.stop_before(oldest);
  for (std::size_t i = 0; i < outputs.size(); ++i)
    start(pass, outputs[i],
          start_gradient("grad", outputs[i], options.gradients.empty() ? Variable() : options.gradients[i]));
  pass.run();
  std::vector<Variable> result;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    result.push_back(collection.take(i, options.create_graph));
    check(options.allow_unused || result.back().defined(), "grad",
          "the outputs do not depend on input {}; pass allow_unused = true to get an undefined gradient", i);
  }
  return result;
}

}  // namespace minigpt
