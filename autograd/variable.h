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
  Ref<detail::VariableImpl> impl_;
};

struct BackwardOptions {
  Variable gradient;          // d(objective)/d(root); default: 1 for a root with one element
  bool retain_graph = false;  // keep what was saved, so that backward can run again
  bool create_graph = false;  // record the backward pass itself, for second derivatives; implies retain_graph
};

// Whether operations are being recorded in this thread (they are, unless a NoGrad is alive).
bool recording();

// While alive, operations in this thread are not recorded: evaluation, sampling, optimiser steps.
class NoGrad {
 public:
  NoGrad();
  ~NoGrad();
  NoGrad(const NoGrad&) = delete;
  NoGrad& operator=(const NoGrad&) = delete;

 private:
  bool before_;
};

namespace detail {

// Switches recording for a scope; the engine turns it on again for create_graph.
class Recording {
 public:
  explicit Recording(bool on);
  ~Recording();
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

 private:
  bool before_;
};

}  // namespace detail
}  // namespace minigpt
