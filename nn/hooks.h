#pragma once
// Hooks on modules by name: called with what a module gave, or with the gradient that comes back to it.
//
//   Hooks hooks;
//   hooks.on_backward("transformer.h.*.attn", [](const char* path, const Variable& gradient) {
//     fmt::print("{} {}\n", path, norm(gradient));
//     return Variable();                                   // or another gradient in its place
//   });
//   model.loss(x, y, hooks.watching(mode)).backward();
//
// What is called are the modules that hand their outputs to Mode::observe: in a GPT transformer.drop (the embeddings),
// transformer.h.I.attn, transformer.h.I.mlp (both before they are added to the stream), transformer.h.I, transformer.ln_f
// and lm_head. (models/probe.h also sees inside of blocks.)

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "nn/module.h"

namespace minigpt {

// Does the whole of `text` fit the pattern? "*" stands for any characters, also none and also dots, "?" for one.
bool glob_match(std::string_view pattern, std::string_view text);

using ForwardHook = std::function<void(const char* path, const Variable& output)>;
// May return a gradient of the same shape to take its place, or an undefined Variable.
using BackwardHook = std::function<Variable(const char* path, const Variable& gradient)>;

class Hooks {
 public:
  Hooks();
  Hooks(const Hooks&) = delete;
  Hooks& operator=(const Hooks&) = delete;

  void on_forward(std::string pattern, ForwardHook hook);
  // Not called where nothing is recorded: under NoGrad, and inside blocks that are recomputed (Mode::recompute).
  void on_backward(std::string pattern, BackwardHook hook);

  // The mode, with these hooks besides the observer that it has. The hooks must outlive the forward pass; those of the backward
  // pass are copied into the graph.
  Mode watching(Mode mode);

 private:
  template <class Hook>
  struct Entry {
    std::string pattern;
    Hook hook;
  };
  void look(const char* path, const Variable& output) const;

  std::vector<Entry<ForwardHook>> forward_;
  std::vector<Entry<BackwardHook>> backward_;
  const std::function<void(const char*, const Variable&)>* before_ = nullptr;
  std::function<void(const char*, const Variable&)> observe_;
};

}  // namespace minigpt
