#include "autograd/watch.h"

#include "autograd/replace.h"

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
  detail::watchers.update();
}

Watcher::~Watcher() {
  Watcher** place = &detail::watchers.all;
  while (*place && *place != this) place = &WatcherList::next(**place);
  if (*place) *place = next_;
  detail::watchers.update();
}

namespace detail {

void tell_forward(const char* op, Variable& y, const Variable* inputs, std::size_t count) {
  if (watchers.replacement) replace_forward(op, y, inputs, count);
  if (watchers.in_backward) return;
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
