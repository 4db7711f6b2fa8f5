#pragma once
// Variable: a tensor and the record of how it was made.
//
//   Variable w(tensor, true);            // a leaf: made by hand, wants a gradient
//   Variable loss = sum(w * w);          // an inner value: carries the node that made it
//   loss.backward();                     // w.grad() is now 2 w
//
// Gradients of leaves add up: a second backward() adds to w.grad(), because a loss is often the sum of
// several parts (micro-batches). Clear them with zero_grad() between steps. Inner values do not keep theirs
// unless retain_grad() was called. Copying a Variable copies a reference. A graph belongs to one thread.

#include <functional>

#include "autograd/ref.h"
#include "tensor/tensor.h"

namespace minigpt {

class Variable;
struct Node;

// A hook sees a gradient on its way and may return another one to take its place, or an undefined Variable.
using GradHook = std::function<Variable(const Variable& gradient)>;

namespace detail {
struct GradMeta;
struct VariableImpl;
}  // namespace detail

struct BackwardOptions;

class Variable {
 public:
  // An undefined variable, for an absent bias and the like.
  Variable();
  // A leaf. Only float32 and float64 can require a gradient.
  explicit Variable(Tensor value, bool requires_grad = false);
  Variable(const Variable&);
  Variable(Variable&&) noexcept;
  Variable& operator=(const Variable&);
  Variable& operator=(Variable&&) noexcept;
  ~Variable();

  bool defined() const { return static_cast<bool>(impl_); }
  // The numbers. Writing to them in place after they were saved for a backward pass is noticed there (version
  // counter).
  const Tensor& value() const;
  Tensor& mutable_value();
  const Shape& shape() const { return value().shape(); }
  DType dtype() const { return value().dtype(); }
  int rank() const { return value().rank(); }
  std::int64_t dim(int axis) const { return value().dim(axis); }
  std::int64_t numel() const { return value().numel(); }
  // The only element as a plain number: how a loss is read without keeping its graph alive.
  double item() const { return value().item(); }

  bool requires_grad() const;
  // Leaves only.
  void set_requires_grad(bool on);
  // Made by hand, not by an operation.
  bool is_leaf() const;
  // The node that made it; null for leaves.
  Node* node() const;

  bool has_grad() const;
  // The gradient. Throws Error, with the likely reason, if there is none.
  const Variable& grad() const;
  // Sets it (shape and dtype must match) or, with an undefined variable, drops it.
  void set_grad(Variable gradient);
  void zero_grad() { set_grad(Variable()); }
  // Makes an inner value keep its gradient in the next backward pass.
  void retain_grad();
  // Registers a hook on the whole gradient of this variable. Throws Error if it requires none.
  void on_grad(GradHook hook);

  // The same numbers (shared), without history.
  Variable detach() const;

  // d(this)/d(every leaf it depends on), added to their grad(). `this` must be a single element, or
  // options.gradient says what to multiply it with. Throws Error on a constant, or where the graph was used
  // up.
  void backward() const;
  void backward(const BackwardOptions& options) const;

  // Name for error texts, graphs and reports; the pointer must stay valid (see intern() in autograd/scope.h).
  const char* name() const;
  void set_name(const char* name);

  // Identity: do two variables refer to the same one?
  bool is(const Variable& other) const { return impl_ == other.impl_; }

 private:
  friend struct detail::VariableImpl;
  explicit Variable(Ref<detail::VariableImpl> impl);
  detail::VariableImpl& impl(const char* what) const;
  [[noreturn]] static void undefined(const char* what);
  Ref<detail::VariableImpl> impl_;
};

struct BackwardOptions {
  Variable gradient;          // d(objective)/d(root); default: 1 for a root with one element
  bool retain_graph = false;  // keep what was saved, so that backward can run again
  bool create_graph = false;  // record the backward pass itself, for second derivatives; implies retain_graph
};

namespace detail {

extern constinit thread_local bool recording_on;

// What a variable that requires a gradient has beyond its value. Leaves always have one; inner values get one
// with retain_grad() or a hook, and share it with their node.
struct GradMeta : Pooled {
  std::int64_t references = 0;
  Variable grad;
  Variable pending;  // sum so far during a backward pass (leaves)
  std::vector<GradHook> hooks;
  const char* name = "";
  bool leaf = false;
  bool retain = false;
  bool touched = false;
  static void destroy(GradMeta* meta);
};

// What a Variable points to.
struct VariableImpl : Pooled {
  std::int64_t references = 0;
  Tensor value;
  Ref<Node> node;
  Ref<GradMeta> meta;

  VariableImpl(Tensor&& v, Ref<Node>&& n, Ref<GradMeta>&& m);
  bool requires_grad() const { return node || (meta && meta->leaf); }
  static void destroy(VariableImpl* impl);
  static VariableImpl& of(const Variable& v) { return *v.impl_; }
  static Variable make(Tensor&& value, Ref<Node> node = {}, Ref<GradMeta> meta = {});
};

}  // namespace detail

// Whether operations are being recorded in this thread (they are, unless a NoGrad is alive).
inline bool recording() { return detail::recording_on; }

// While alive, operations in this thread are not recorded: evaluation, sampling, optimiser steps.
class NoGrad {
 public:
  NoGrad() : before_(detail::recording_on) { detail::recording_on = false; }
  ~NoGrad() { detail::recording_on = before_; }
  NoGrad(const NoGrad&) = delete;
  NoGrad& operator=(const NoGrad&) = delete;

 private:
  bool before_;
};

namespace detail {

// Switches recording for a scope; the engine turns it on again for create_graph.
class Recording {
 public:
  explicit Recording(bool on) : before_(recording_on) { recording_on = on; }
  ~Recording() { recording_on = before_; }
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

 private:
  bool before_;
};

}  // namespace detail

// Everything an operation does with its operands is inline: on a tensor of a few numbers, calls would cost more
// than the arithmetic.

inline Variable::Variable() = default;
inline Variable::Variable(const Variable&) = default;
inline Variable::Variable(Variable&&) noexcept = default;
inline Variable& Variable::operator=(const Variable&) = default;
inline Variable& Variable::operator=(Variable&&) noexcept = default;
inline Variable::~Variable() = default;
inline Variable::Variable(Ref<detail::VariableImpl> impl) : impl_(std::move(impl)) {}

inline detail::VariableImpl& Variable::impl(const char* what) const {
  if (!impl_) [[unlikely]]
    undefined(what);
  return *impl_;
}

inline const Tensor& Variable::value() const { return impl("value").value; }
inline Tensor& Variable::mutable_value() { return impl("value").value; }
inline bool Variable::requires_grad() const { return impl("requires_grad").requires_grad(); }

}  // namespace minigpt
