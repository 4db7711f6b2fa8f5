// Operations of several inputs, of which only some want a gradient: those get the gradient that they would get if all wanted
// one, bit for bit, and the backward pass of the others is left out.

#include <functional>

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
  static const Tensor chosen = gt(random({2, 3}, 7), 0.0);
  static const std::vector<Case> all = {
      {"add", [](List v) { return v[0] + v[1]; }, {{2, 3}, {3}}},
      {"sub", [](List v) { return v[0] - v[1]; }, {{2, 3}, {3}}},
      {"mul", [](List v) { return v[0] * v[1]; }, {{2, 3}, {3}}},
      {"div", [](List v) { return v[0] / v[1]; }, {{2, 3}, {3}}},
      {"maximum", [](List v) { return maximum(v[0], v[1]); }, {{2, 3}, {3}}},
      {"minimum", [](List v) { return minimum(v[0], v[1]); }, {{2, 3}, {3}}},
      {"where", [](List v) { return where(chosen, v[0], v[1]); }, {{2, 3}, {3}}},
      {"concat", [](List v) { return concat(v, 1); }, {{2, 3}, {2, 1}, {2, 2}}},
      {"stack", [](List v) { return stack(v, 1); }, {{2, 3}, {2, 3}, {2, 3}}},
      {"matmul", [](List v) { return matmul(v[0], v[1]); }, {{2, 3}, {3, 4}}},
      {"matmul, one matrix for all", [](List v) { return matmul(v[0], v[1]); }, {{2, 2, 3}, {3, 4}}},
      {"matmul, in batches", [](List v) { return matmul(v[0], v[1]); }, {{2, 2, 3}, {2, 3, 4}}},
      {"linear", [](List v) { return linear(v[0], v[1], v[2]); }, {{2, 3}, {4, 3}, {4}}},
      {"linear_activation",
       [](List v) { return linear_activation(v[0], v[1], v[2], Activation::silu); },
       {{2, 3}, {4, 3}, {4}}},
      {"mlp",
       [](List v) { return mlp(v[0], v[1], v[2], v[3], v[4], Activation::silu); },
       {{2, 3}, {5, 3}, {5}, {4, 5}, {4}}},
      {"layer_norm", [](List v) { return layer_norm(v[0], v[1], v[2]); }, {{2, 3}, {3}, {3}}},
      {"rms_norm", [](List v) { return rms_norm(v[0], v[1]); }, {{2, 3}, {3}}},
      {"layer_norm_linear",
       [](List v) { return layer_norm_linear(v[0], v[1], v[2], v[3], v[4]); },
       {{2, 3}, {3}, {3}, {4, 3}, {4}}},
      {"rms_norm_linear",
       [](List v) { return rms_norm_linear(v[0], v[1], v[2], v[3]); },
       {{2, 3}, {3}, {4, 3}, {4}}},
      {"residual_layer_norm",
       [](List v) {
         const ResidualNorm r = residual_layer_norm(v[0], v[1], v[2], v[3]);
         return r.sum * r.normed;
       },
       {{2, 3}, {2, 3}, {3}, {3}}},
      {"residual_rms_norm",
       [](List v) {
         const ResidualNorm r = residual_rms_norm(v[0], v[1], v[2]);
         return r.sum * r.normed;
       },
       {{2, 3}, {2, 3}, {3}}},
  };
  return all;
}

// The outcome with the inputs of `wanted` (a bit each) as leaves and the others as constants.
Outcome outcome_of(const Case& c, unsigned wanted, bool create_graph) {
  std::vector<Variable> inputs;
  for (std::size_t i = 0; i < c.inputs.size(); ++i)
    inputs.push_back(Variable(random(c.inputs[i], i + 1), (wanted >> i & 1) != 0));
  return outcome(c.op, inputs, Tensor(), create_graph);
}

TEST_CASE("inputs: whatever others want, an input gets its gradient") {
  for (const Case& c : cases()) {
    for (const bool create_graph : {false, true}) {
      const unsigned everything = (1u << c.inputs.size()) - 1;
      const Outcome all = outcome_of(c, everything, create_graph);
      for (unsigned wanted = 1; wanted < everything; ++wanted) {
        CAPTURE(std::string(c.name));
        CAPTURE(wanted);
        CAPTURE(create_graph);
        const Outcome some = outcome_of(c, wanted, create_graph);
        CHECK(difference(some.value, all.value) == 0);
        std::size_t next = 0;
        for (std::size_t i = 0; i < c.inputs.size(); ++i) {
          if (!(wanted >> i & 1)) continue;
          CAPTURE(i);
          CHECK(difference(some.gradients[next++], all.gradients[i]) == 0);
        }
      }
    }
  }
}

}  // namespace
}  // namespace minigpt::test
