#pragma once
// What the comparison with modules.json is made of: a case, and a table of functions that run it on our layers.

#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <vector>

#include "nn/module.h"

namespace minigpt::reference {

struct ModuleCase {
  nlohmann::json config;
  DType dtype = DType::f32;
  std::vector<NamedTensor> weights;
  std::map<std::string, Variable> inputs;

  // An input by name, undefined if the case has none of that name.
  Variable operator[](const std::string& name) const {
    const auto found = inputs.find(name);
    return found == inputs.end() ? Variable() : found->second;
  }
  // The same for masks, which are no variables.
  Tensor mask(const std::string& name) const {
    const Variable found = (*this)[name];
    return found.defined() ? found.value() : Tensor();
  }
  // A setting, or its default.
  template <class T>
  T setting(const char* name, T otherwise) const {
    return config.contains(name) ? config.at(name).get<T>() : otherwise;
  }
};

struct ModuleOutcome {
  std::vector<Variable> outputs;  // in the order of the file
  std::vector<NamedParameter> parameters;
};

// Builds the layer of a case, loads its weights and runs it.
using ModuleRunner = std::function<ModuleOutcome(const ModuleCase&)>;
using ModuleTable = std::map<std::string, ModuleRunner>;

// The parameters of a layer, with the weights of the case in them.
template <class M>
std::vector<NamedParameter> loaded(M& layer, const ModuleCase& c) {
  convert_parameters(layer, c.dtype);
  std::vector<NamedParameter> parameters = named_parameters(layer);
  load_parameters(parameters, c.weights, "modules.json");
  return parameters;
}

ModuleTable attention_modules();

}  // namespace minigpt::reference
