#pragma once
// Modules are plain structs that name each of their members once:
//
//   struct Mlp : Module {
//     Linear c_fc, c_proj;
//     template <class V> void visit(V&& v) { v("c_fc", c_fc); v("c_proj", c_proj); }
//     Variable forward(const Variable& x, const Mode& mode);
//   };
//
// Everything else follows from `visit`: parameter lists, checkpoints, optimiser groups, tables. A member may
// be a parameter (Variable; an undefined one is an absent bias and is skipped), a module, or a std::vector of
// modules, whose elements are named by their number: "h.0.attn.c_attn.weight". Modules hold references to
// their parameters, so a copy of a module shares them.

#include <concepts>
#include <string>
#include <string_view>
#include <vector>

#include "autograd/scope.h"
#include "autograd/variable.h"

namespace minigpt {

class DropoutStream;

// What a forward pass needs to know besides its input. Randomness is handed in, never global.
struct Mode {
  bool training = false;             // dropout on
  DropoutStream* dropout = nullptr;  // where masks come from; needed when training with dropout > 0
  bool recompute = false;  // keep only the input of each block, and compute it again for its gradients
  // If set, called with the path of a module and each of its outputs, for looking inside.
  const std::function<void(const char* path, const Variable& output)>* observe = nullptr;
};

// Base of all modules: knows its place in the model.
struct Module {
  const char* path = "";  // "transformer.h.0.attn"; set by stamp_paths()

  // Hands an output to the observer, if there is one, and returns it.
  const Variable& observed(const Variable& output, const Mode& mode) const {
    if (mode.observe) (*mode.observe)(path, output);
    return output;
  }
};

struct NamedParameter {
  std::string name;  // first name under which the walk met it
  Variable variable;
  std::vector<std::string> aliases;  // further names of a tied parameter
};

namespace detail {

// Calls on_parameter(name, Variable&) and on_module(name, Module&) in the order of `visit`, children after
// parents.
template <class OnParameter, class OnModule>
class Walk {
 public:
  Walk(OnParameter& on_parameter, OnModule& on_module) : on_parameter_(on_parameter), on_module_(on_module) {}

  template <class M>
  void root(M& module) {
    on_module_(std::string(), static_cast<Module&>(module));
    module.visit(*this);
  }

  void operator()(std::string_view name, Variable& parameter) {
    if (parameter.defined()) on_parameter_(prefix_ + std::string(name), parameter);
  }

  template <std::derived_from<Module> M>
  void operator()(std::string_view name, M& module) {
    const std::size_t length = prefix_.size();
    prefix_ += name;
    on_module_(prefix_, static_cast<Module&>(module));
    prefix_ += '.';
    module.visit(*this);
    prefix_.resize(length);
  }

  template <std::derived_from<Module> M>
  void operator()(std::string_view name, std::vector<M>& modules) {
    for (std::size_t i = 0; i < modules.size(); ++i)
      (*this)(std::string(name) + "." + std::to_string(i), modules[i]);
  }

 private:
  OnParameter& on_parameter_;
  OnModule& on_module_;
  std::string prefix_;
};

// Adds a parameter to the list, or its name to the aliases of the entry it is tied to.
void collect_parameter(std::vector<NamedParameter>& list, std::string name, const Variable& parameter);

}  // namespace detail

template <class M, class OnParameter, class OnModule>
void walk(M& module, OnParameter on_parameter, OnModule on_module) {
  detail::Walk<OnParameter, OnModule>(on_parameter, on_module).root(module);
}

// Tells every module below `root` its path and every parameter its name, for graph nodes and messages. Call
// it once the module is where it stays.
template <class M>
void stamp_paths(M& root) {
  walk(
      root,
      [](const std::string& name, Variable& p) {
        if (!*p.name()) p.set_name(intern(name));
      },
      [](const std::string& path, Module& m) { m.path = intern(path); });
}

// All parameters in the order of `visit`; a tied one once, with its other names.
template <class M>
std::vector<NamedParameter> named_parameters(M& module) {
  std::vector<NamedParameter> list;
  walk(
      module, [&](std::string name, Variable& p) { detail::collect_parameter(list, std::move(name), p); },
      [](const std::string&, Module&) {});
  return list;
}

// Converts every parameter in place, for example to float64 for a gradient check. Gradients are dropped.
template <class M>
void convert_parameters(M& module, DType dtype) {
  for (NamedParameter& p : named_parameters(module)) {
    p.variable.zero_grad();
    p.variable.mutable_value() = p.variable.value().to(dtype);
  }
}

// Drops every gradient.
void zero_grad(const std::vector<NamedParameter>& parameters);
// Number of numbers to learn.
std::int64_t parameter_count(const std::vector<NamedParameter>& parameters);

// --- Checkpoint contents -------------------------------------------------------------------------

struct NamedTensor {
  std::string name;
  Tensor tensor;
};

// Copies tensors into the parameters of equal name. All names and shapes are checked first: on any difference
// an Error lists what is missing, unexpected and differently shaped, and nothing is changed. A tensor under
// an alias of a tied parameter is accepted if it equals the tied one or the tied one is absent. float32 and
// float64 convert.
void load_parameters(const std::vector<NamedParameter>& parameters, const std::vector<NamedTensor>& tensors,
                     std::string_view source);
// The checks alone, for whoever has several things to load and wants all of them or none.
void check_parameters(const std::vector<NamedParameter>& parameters, const std::vector<NamedTensor>& tensors,
                      std::string_view source);

}  // namespace minigpt
