#include "nn/hooks.h"

namespace minigpt {

bool glob_match(std::string_view pattern, std::string_view text) {
  // The last star takes as little as it can; when the rest does not fit, it takes one more.
  std::size_t p = 0, t = 0, star = pattern.npos, taken = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      taken = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p;
      ++t;
    } else if (star != pattern.npos) {
      p = star + 1;
      t = ++taken;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

Hooks::Hooks() : observe_([this](const char* path, const Variable& output) { look(path, output); }) {}

void Hooks::on_forward(std::string pattern, ForwardHook hook) {
  forward_.push_back({std::move(pattern), std::move(hook)});
}

void Hooks::on_backward(std::string pattern, BackwardHook hook) {
  backward_.push_back({std::move(pattern), std::move(hook)});
}

Mode Hooks::watching(Mode mode) {
  before_ = mode.observe;
  mode.observe = &observe_;
  return mode;
}

void Hooks::look(const char* path, const Variable& output) const {
  if (before_) (*before_)(path, output);
  for (const Entry<ForwardHook>& e : forward_)
    if (glob_match(e.pattern, path)) e.hook(path, output);
  if (!recording() || !output.requires_grad()) return;
  for (const Entry<BackwardHook>& e : backward_) {
    if (!glob_match(e.pattern, path)) continue;
    Variable same = output;  // refers to the same one
    same.on_grad([path, hook = e.hook](const Variable& gradient) { return hook(path, gradient); });
  }
}

}  // namespace minigpt
