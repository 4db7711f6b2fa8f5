#pragma once
// Names of places: which module is running, so that a node, an error or a profile row can say where it comes
// from.

#include <string>
#include <string_view>

namespace minigpt {

// A copy of `text` that lives as long as the program; equal texts give equal pointers.
const char* intern(std::string_view text);

// The path of the innermost module that is running in this thread, "" outside of any.
const char* current_scope();

// While alive, nodes recorded in this thread carry `path` (an interned string).
class Scope {
 public:
  explicit Scope(const char* path);
  ~Scope();
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

 private:
  const char* before_;
};

}  // namespace minigpt
