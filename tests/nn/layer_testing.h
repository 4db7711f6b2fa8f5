#pragma once
// What the tests of layers have in common.

#include <doctest/doctest.h>

#include "nn/dropout_stream.h"
#include "nn/module.h"
#include "tests/autograd/op_testing.h"

namespace minigpt::testing {

// The gradients of a layer's input and of all its parameters agree with finite differences, in float64.
template <class M, class Forward>
void check_layer_gradients(M& layer, const Shape& input, const Forward& forward) {
  convert_parameters(layer, DType::f64);
  stamp_paths(layer);
  std::vector<Variable> all = {Variable(random(input, 11), true)};
  for (const NamedParameter& p : named_parameters(layer)) all.push_back(p.variable);
  const GradcheckResult result =
      gradcheck([&](const std::vector<Variable>& v) { return forward(v[0]); }, all);
  CHECK_MESSAGE(result.ok, result.str());
  std::int64_t elements = 0;
  for (const Variable& v : all) elements += v.numel();
  CHECK(result.checked == elements);
}

// Training with masks that are the same in every call of fixed().
struct FixedDropout {
  DropoutStream stream = DropoutStream::counter(7);
  Mode fixed() {
    stream.begin(1);
    Mode mode;
    mode.training = true;
    mode.dropout = &stream;
    return mode;
  }
};

// The names of all parameters, in order.
template <class M>
std::vector<std::string> parameter_names(M& module) {
  std::vector<std::string> names;
  for (const NamedParameter& p : named_parameters(module)) names.push_back(p.name);
  return names;
}

inline Tensor bools(std::initializer_list<bool> values, const Shape& shape) {
  return Tensor::from<bool>(values, shape);
}

// The largest magnitude.
inline double largest(const Tensor& x) { return difference(x, zeros(x.shape(), x.dtype())); }

}  // namespace minigpt::testing
