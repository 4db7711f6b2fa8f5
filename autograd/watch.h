#pragma once
// Watchers: see every operation as it happens, forward and backward. What looks inside stands on them: times and gradient
// norms of a graph (autograd/graph_recorder.h), the first NaN (autograd/anomaly.h). They only look: nothing they are shown
// may be changed. Without one, an operation pays one branch.

#include <cstddef>

namespace minigpt {

class Variable;
struct Node;

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

// The watchers of this thread; `forward` is null during a backward pass.
struct Watchers {
  Watcher* all = nullptr;
  Watcher* forward = nullptr;
};
inline constinit thread_local Watchers watchers;

void tell_forward(const char* op, const Variable& y, const Variable* inputs, std::size_t count);
void tell_backward(const Node& node, const Variable& dy);
void tell_gradient(const Node& node, int input, const Variable& gradient);
void tell_backward_end(const Node& node);

// Alive during a backward pass, whose own operations are not shown.
class WatchBackward {
 public:
  WatchBackward() : before_(watchers.forward) { watchers.forward = nullptr; }
  ~WatchBackward() { watchers.forward = before_; }
  WatchBackward(const WatchBackward&) = delete;
  WatchBackward& operator=(const WatchBackward&) = delete;

 private:
  Watcher* before_;
};

}  // namespace detail
}  // namespace minigpt
