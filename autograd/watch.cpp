#include "autograd/watch.h"

namespace minigpt {

struct WatcherList {
  template <class Tell>
  static void each(const Tell& tell) {
    for (Watcher* w = detail::watchers.all; w; w = w->next_) tell(*w);
  }
  static Watcher*& next(Watcher& w) { return w.next_; }
};

Watcher::Watcher() : next_(detail::watchers.all) {
  detail::watchers.all = this;
  detail::watchers.forward = this;
}

Watcher::~Watcher() {
  Watcher** place = &detail::watchers.all;
  while (*place && *place != this) place = &WatcherList::next(**place);
  if (*place) *place = next_;
  detail::watchers.forward = detail::watchers.all;
}

namespace detail {

void tell_forward(const char* op, const Variable& y, const Variable* inputs, std::size_t count) {
  WatcherList::each([&](Watcher& w) { w.on_forward(op, y, inputs, count); });
}
void tell_backward(const Node& node, const Variable& dy) {
  WatcherList::each([&](Watcher& w) { w.on_backward(node, dy); });
}
void tell_gradient(const Node& node, int input, const Variable& gradient) {
  WatcherList::each([&](Watcher& w) { w.on_gradient(node, input, gradient); });
}
void tell_backward_end(const Node& node) {
  WatcherList::each([&](Watcher& w) { w.on_backward_end(node); });
}

}  // namespace detail
}  // namespace minigpt
