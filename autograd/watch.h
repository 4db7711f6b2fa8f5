#pragma once
// Watchers: see every operation as it happens, forward and backward. What looks inside stands on them: times and gradient
// norms of a graph (autograd/graph_recorder.h), the first NaN (autograd/anomaly.h). They only look: nothing they are shown
// may be changed. Without one, an operation pays one branch.

#include <cstddef>

namespace minigpt {

class Variable;
class Replacement;
struct Node;
class Grads;

// While alive, sees the operations of its thread. Several can be alive; the youngest is told first.
class Watcher {
 public:
  virtual ~Watcher();
  Watcher(const Watcher&) = delete;
  Watcher& operator=(const Watcher&) = delete;

  // `op` has made y from the inputs. y.node() is null if nothing was recorded. Not called for operations inside a backward
  // pass.
  virtual void on_forward(const char* /*op*/, const Variable& /*y*/, const Variable* /*inputs*/,
                          std::size_t /*count*/) {}
  // The gradient dy of the node's output is complete, and its backward function is about to run.
  virtual void on_backward(const Node& /*node*/, const Variable& /*dy*/) {}
  // The node's backward function gave this gradient, already in the shape of the input; it is about to be added to what the
  // input has.
  virtual void on_gradient(const Node& /*node*/, int /*input*/, const Variable& /*gradient*/) {}
  // All gradients of the node are sent; it is about to drop what it saved.
  virtual void on_backward_end(const Node& /*node*/) {}

 protected:
  Watcher();

 private:
  friend struct WatcherList;
  Watcher* next_;
};

namespace detail {

// The watchers of this thread, and what stands in for operations (autograd/replace.h).
struct Watchers {
  Watcher* all = nullptr;
  Replacement* replacement = nullptr;
  bool in_backward = false;  // watchers are not told of operations then
  bool forward = false;      // someone must be told of the next operation
  bool backward = false;     // someone must be told of the next node of a backward pass

  void update() {
    forward = replacement || (all && !in_backward);
    backward = replacement || all;
  }
};
inline constinit thread_local Watchers watchers;

// Replaces y, if there is a Replacement, and shows it to the watchers.
void tell_forward(const char* op, Variable& y, const Variable* inputs, std::size_t count);
void tell_backward(const Node& node, const Variable& dy);
// The node's backward function has run: a Replacement may change what it gave.
void tell_gradients(Node& node, const Variable& dy, Grads& gradients);
void tell_gradient(const Node& node, int input, const Variable& gradient);
void tell_backward_end(const Node& node);

// Alive during a backward pass, whose own operations are not shown.
class WatchBackward {
 public:
  WatchBackward() : before_(watchers.in_backward) { set(true); }
  ~WatchBackward() { set(before_); }
  WatchBackward(const WatchBackward&) = delete;
  WatchBackward& operator=(const WatchBackward&) = delete;

 private:
  static void set(bool inside) {
    watchers.in_backward = inside;
    watchers.update();
  }
  bool before_;
};

}  // namespace detail
}  // namespace minigpt
