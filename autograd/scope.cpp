#include "autograd/scope.h"

#include <mutex>
#include <set>

namespace minigpt {
namespace {
thread_local const char* current = "";
}

const char* intern(std::string_view text) {
  static std::mutex mutex;
  static std::set<std::string, std::less<>> names;
  const std::lock_guard lock(mutex);
  auto found = names.find(text);
  if (found == names.end()) found = names.emplace(text).first;
  return found->c_str();
}

const char* current_scope() { return current; }

Scope::Scope(const char* path) : before_(current) { current = path; }
Scope::~Scope() { current = before_; }

}  // namespace minigpt
