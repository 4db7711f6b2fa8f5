#pragma once
// A reference to something callable, for parameters.

#include <memory>
#include <type_traits>
#include <utility>

namespace minigpt {

template <class Signature>
class FunctionRef;

// Two pointers: the callable, and a function that knows its type. Unlike std::function it owns nothing and
// never allocates, which matters because every kernel call passes one. It must not outlive the call it is
// passed to.
template <class R, class... Args>
class FunctionRef<R(Args...)> {
 public:
  template <class F>
  requires(!std::is_same_v<std::remove_cvref_t<F>, FunctionRef> &&
           std::is_object_v<std::remove_reference_t<F>> && std::is_invocable_r_v<R, F&, Args...>)
      FunctionRef(F&& callable)  // implicit, so that a lambda can be passed as it is
      : object_(const_cast<void*>(static_cast<const void*>(std::addressof(callable)))),
        call_([](void* object, Args... args) -> R {
          return (*static_cast<std::remove_reference_t<F>*>(object))(std::forward<Args>(args)...);
        }) {}

  R operator()(Args... args) const { return call_(object_, std::forward<Args>(args)...); }

 private:
  void* object_;
  R (*call_)(void*, Args...);
};

}  // namespace minigpt
