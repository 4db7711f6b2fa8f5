#pragma once
// record(): how an operation enters the graph. See autograd/ops/ for its uses.

#include <array>
#include <initializer_list>
#include <tuple>

#include "autograd/node.h"
#include "autograd/profile.h"
#include "autograd/watch.h"

namespace minigpt {

// What an op keeps for its backward: save(input(0), output(), mask). Tensors go through this list and never
// into the closure, where they would escape the version check and could tie a cycle; closures hold plain
// numbers.
struct InputItem {
  int index;
};
struct OutputItem {};
inline InputItem input(int index) { return {index}; }
inline OutputItem output() { return {}; }

template <class... Items>
struct SaveList {
  std::tuple<Items...> items;
};
// Refers to tensors that have a name and owns the others, so it is only good as an argument of record().
template <class... Items>
SaveList<Items...> save(Items&&... items) {
  return {{std::forward<Items>(items)...}};
}

namespace detail {

template <class Backward, std::size_t N>
struct RecordedNode final : Node {
  // keep() -> std::array<SavedTensor, N>, which is made in its place.
  template <class Keep>
  RecordedNode(const char* op_name, Backward fn, const Keep& keep)
      : Node(op_name), fn_(std::move(fn)), kept_(keep()) {
    saved = kept_;
  }
  Grads backward(const Variable& dy) override { return fn_(Saved(*this), dy); }
  Backward fn_;
  std::array<SavedTensor, N> kept_;
};

inline SavedTensor saved_now(const Tensor& tensor, int kind) {
  return {tensor, tensor.defined() ? tensor.version() : 0, kind};
}
// The output of a node: gives the node its edges, and the value the node.
Variable attach(Ref<Node> node, const Variable* inputs, std::size_t count, Tensor&& value);

inline SavedTensor save_item(const Variable* inputs, const Tensor&, InputItem item) {
  return saved_now(inputs[item.index].defined() ? inputs[item.index].value() : Tensor(), item.index);
}
inline SavedTensor save_item(const Variable*, const Tensor& value, OutputItem) {
  return saved_now(value, SavedTensor::kOutput);
}
inline SavedTensor save_item(const Variable*, const Tensor&, const Tensor& tensor) {
  return saved_now(tensor, SavedTensor::kOther);
}

inline bool any_requires_grad(const Variable* inputs, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i)
    if (inputs[i].defined() && inputs[i].requires_grad()) return true;
  return false;
}

// Shows y to whoever watches, and hands it on, or what takes its place.
inline Variable watched(const char* op, Variable y, const Variable* inputs, std::size_t count) {
  if (watchers.forward) [[unlikely]]
    tell_forward(op, y, inputs, count);
  return y;
}

}  // namespace detail

// Wraps the result `value` of an op. If recording is on and an input requires a gradient, a node is made that
// keeps the listed tensors and calls backward(const Saved&, const Variable& dy) -> Grads (one entry per
// input, in order). `op` must be a string literal.
template <class... Items, class Backward>
Variable record(const char* op, Tensor&& value, const Variable* inputs, std::size_t count,
                const SaveList<Items...>& list, Backward backward) {
  profile_mark(op);
  if (!recording() || !detail::any_requires_grad(inputs, count))
    return detail::watched(op, detail::VariableImpl::make(std::move(value)), inputs, count);
  const auto keep = [&] {
    return std::apply(
        [&](const auto&... item) {
          return std::array<SavedTensor, sizeof...(Items)>{detail::save_item(inputs, value, item)...};
        },
        list.items);
  };
  using Recorded = detail::RecordedNode<Backward, sizeof...(Items)>;
  Ref<Node> node(new Recorded(op, std::move(backward), keep));
  return detail::watched(op, detail::attach(std::move(node), inputs, count, std::move(value)), inputs, count);
}

template <class... Items, class Backward>
Variable record(const char* op, Tensor value, std::initializer_list<Variable> inputs,
                const SaveList<Items...>& list, Backward backward) {
  return record(op, std::move(value), inputs.begin(), inputs.size(), list, std::move(backward));
}

}  // namespace minigpt
