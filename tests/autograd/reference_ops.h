#pragma once
// How the op names of PyTorch's ops.json map to ours. One table per group of ops.

#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "autograd/variable.h"
#include "tests/reference_files.h"

namespace minigpt::reference {

// One case: named inputs in argument order, and attributes.
struct OpCase {
  nlohmann::json attrs;
  std::vector<std::string> names;
  std::vector<Variable> inputs;  // those with a gradient require one; indices and masks are constants

  // Undefined if there is no input of that name.
  Variable operator[](const std::string& name) const {
    for (std::size_t i = 0; i < names.size(); ++i)
      if (names[i] == name) return inputs[i];
    return Variable();
  }
  const Variable& first() const { return inputs.at(0); }
  const Variable& second() const { return inputs.at(1); }
  // An input that is not differentiated; undefined if absent.
  Tensor constant(const std::string& name) const {
    const Variable v = (*this)[name];
    return v.defined() ? v.value() : Tensor();
  }

  double real(const char* key) const { return number(attrs.at(key)); }
  int integer(const char* key) const { return attrs.at(key).get<int>(); }
  bool flag(const char* key) const { return attrs.at(key).get<bool>(); }
  bool has(const char* key) const { return attrs.contains(key) && !attrs.at(key).is_null(); }
  // null: no axis (all of them); an integer; or a list.
  Dims dims(const char* key) const {
    const nlohmann::json& value = attrs.at(key);
    if (value.is_null()) return {};
    if (value.is_number()) return {value.get<std::int64_t>()};
    const auto list = value.get<std::vector<std::int64_t>>();
    return Dims(list.begin(), list.end());
  }
};

// The outputs of an op, in the order of the file.
using OpFunction = std::function<std::vector<Variable>(const OpCase&)>;
using OpTable = std::map<std::string, OpFunction>;

OpTable elementwise_ops();
OpTable shape_ops();
OpTable fused_ops();

// Builds what an expression like "y=tanh(x); y*exp(y)+y" says, from the named inputs.
Variable build_expression(const std::string& text, const OpCase& inputs);

}  // namespace minigpt::reference
