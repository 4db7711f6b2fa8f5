// Matrix products in bfloat16: the gradients of a product are products too, and are made in the precision in which it was
// made, whatever is set by the time the backward pass runs.

#include <optional>

#include "autograd/checkpoint.h"
#include "autograd/ops.h"
#include "tests/autograd/op_testing.h"

namespace minigpt::test {
namespace {

using namespace testing;

struct Case {
  const char* name;
  Op op;
  std::vector<Shape> inputs;
};

const std::vector<Case>& cases() {
  using List = const std::vector<Variable>&;
  static const std::vector<Case> all = {
      {"matmul", [](List v) { return matmul(v[0], v[1]); }, {{5, 8}, {8, 6}}},
      {"batched matmul", [](List v) { return matmul(v[0], v[1]); }, {{2, 5, 8}, {2, 8, 6}}},
      {"linear", [](List v) { return linear(v[0], v[1], v[2]); }, {{5, 8}, {6, 8}, {6}}},
      {"linear_activation",
       [](List v) { return linear_activation(v[0], v[1], v[2], Activation::gelu_erf); },
       {{5, 8}, {6, 8}, {6}}},
      {"mlp",
       [](List v) { return mlp(v[0], v[1], v[2], v[3], v[4], Activation::gelu_erf); },
       {{5, 8}, {12, 8}, {12}, {6, 12}, {6}}},
      {"layer_norm_linear",
       [](List v) { return layer_norm_linear(v[0], v[1], v[2], v[3], v[4]); },
       {{5, 8}, {8}, {8}, {6, 8}, {6}}},
      {"rms_norm_linear",
       [](List v) { return rms_norm_linear(v[0], v[1], v[2], v[3]); },
       {{5, 8}, {8}, {6, 8}, {6}}},
      {"checkpoint",
       [](List v) {
         return checkpoint(v[0], {v[1]}, [&](const Variable& x, bool) { return gelu(linear(x, v[1])); });
       },
       {{5, 8}, {6, 8}}},
  };
  return all;
}

// The gradients of a case made in one precision, with another one set while its backward pass runs.
std::vector<Tensor> gradients(const Case& c, Precision made, Precision later, bool create_graph) {
  std::vector<Variable> inputs;
  for (const Shape& shape : c.inputs) inputs.push_back(leaf(shape, inputs.size() + 1, DType::f32));
  std::optional<ScopedMatmulPrecision> precision(made);
  const Variable y = c.op(inputs);
  precision.reset();
  precision.emplace(later);
  GradOptions options;
  options.gradients = {Variable(random(y.shape(), 99, DType::f32))};
  options.create_graph = create_graph;
  std::vector<Tensor> result;
  for (const Variable& g : grad({y}, inputs, options)) result.push_back(g.value());
  return result;
}

TEST_CASE("precision: a product is differentiated in the precision in which it was made") {
  for (const Case& c : cases()) {
    for (const bool create_graph : {false, true}) {
      CAPTURE(std::string(c.name));
      CAPTURE(create_graph);
      const auto full = gradients(c, Precision::full, Precision::full, create_graph);
      const auto bf16 = gradients(c, Precision::bf16, Precision::bf16, create_graph);
      const auto full_later = gradients(c, Precision::full, Precision::bf16, create_graph);
      const auto bf16_later = gradients(c, Precision::bf16, Precision::full, create_graph);
      for (std::size_t i = 0; i < full.size(); ++i) {
        CAPTURE(i);
        CHECK(difference(full[i], full_later[i]) == 0);
        CHECK(difference(bf16[i], bf16_later[i]) == 0);
      }
      CHECK(difference(full[0], bf16[0]) > 1e-4);  // or nothing is tested
    }
  }
}

}  // namespace
}  // namespace minigpt::test
