#pragma once
// Replacement: puts something else in the place of operations, without a line of it in the operations themselves.
//
//   struct WrongExp : Replacement {                        // dx = dy * x in place of dy * e^x
//     void backward(Node& node, const Variable& dy, Grads& gradients) override {
//       if (std::string_view(node.op) == "exp") gradients[0] = dy * log(Saved(node).output());
//     }
//   };
//   const WrongExp wrong;                                  // from here on exp has a wrong backward
//
// That is how faults are planted to see whether tests find them (tools/zoo/). Where there is none, operations pay
// nothing: they ask one question for watchers and replacements together (autograd/watch.h).

#include <span>

#include "autograd/node.h"
#include "autograd/watch.h"

namespace minigpt {

// While alive, it is asked about every operation of its thread, in backward passes too, but not about those that it makes
// itself. The youngest of several is asked alone.
class Replacement {
 public:
  virtual ~Replacement();
  Replacement(const Replacement&) = delete;
  Replacement& operator=(const Replacement&) = delete;

  // `op` has made y from the inputs. Returns what takes its place: y itself, or another value of its shape and type, with
  // the history of however it was made.
  virtual Variable forward(const char* /*op*/, const Variable& y, std::span<const Variable> /*inputs*/) {
    return y;
  }
  // The node's backward function gave these gradients for dy, one for each input, before they are summed to the shapes of
  // broadcast inputs. They may be changed; what the node kept is still there (Saved).
  virtual void backward(Node& /*node*/, const Variable& /*dy*/, Grads& /*gradients*/) {}

 protected:
  Replacement();

 private:
  Replacement* before_;
};

namespace detail {
// Lets the Replacement of this thread look at a result. Throws Error if it gives another shape or type.
void replace_forward(const char* op, Variable& y, const Variable* inputs, std::size_t count);
}  // namespace detail

}  // namespace minigpt
