#include <limits>

#include "autograd/ops/abs.h"
#include "autograd/ops/add.h"
#include "autograd/ops/clamp.h"
#include "autograd/ops/div.h"
#include "autograd/ops/exp.h"
#include "autograd/ops/gelu.h"
#include "autograd/ops/log.h"
#include "autograd/ops/masked_fill.h"
#include "autograd/ops/maximum.h"
#include "autograd/ops/minimum.h"
#include "autograd/ops/mul.h"
#include "autograd/ops/neg.h"
#include "autograd/ops/pow.h"
#include "autograd/ops/relu.h"
#include "autograd/ops/sigmoid.h"
#include "autograd/ops/silu.h"
#include "autograd/ops/sqrt.h"
#include "autograd/ops/sub.h"
#include "autograd/ops/tanh.h"
#include "autograd/ops/where.h"
#include "tests/autograd/reference_ops.h"

namespace minigpt::reference {
namespace {

using Outputs = std::vector<Variable>;

// The table entry of an op with one input, or two, and no attributes.
OpFunction of_one(Variable (*op)(const Variable&)) {
  return [op](const OpCase& c) { return Outputs{op(c.first())}; };
}
OpFunction of_two(Variable (*op)(const Variable&, const Variable&)) {
  return [op](const OpCase& c) { return Outputs{op(c.first(), c.second())}; };
}

Variable gelu_of(const OpCase& c) {
  const bool with_tanh = c.attrs.at("approximate").get<std::string>() == "tanh";
  return gelu(c.first(), with_tanh ? Gelu::tanh : Gelu::erf);
}

}  // namespace

OpTable elementwise_ops() {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  return {
      {"add", of_two([](const Variable& a, const Variable& b) { return a + b; })},
      {"sub", of_two([](const Variable& a, const Variable& b) { return a - b; })},
      {"mul", of_two([](const Variable& a, const Variable& b) { return a * b; })},
      {"div", of_two([](const Variable& a, const Variable& b) { return a / b; })},
      {"maximum", of_two(maximum)},
      {"minimum", of_two(minimum)},
      {"add_scalar", [](const OpCase& c) { return Outputs{c.first() + c.real("scalar")}; }},
      {"sub_scalar", [](const OpCase& c) { return Outputs{c.first() - c.real("scalar")}; }},
      {"rsub_scalar", [](const OpCase& c) { return Outputs{c.real("scalar") - c.first()}; }},
      {"mul_scalar", [](const OpCase& c) { return Outputs{c.first() * c.real("scalar")}; }},
      {"div_scalar", [](const OpCase& c) { return Outputs{c.first() / c.real("scalar")}; }},
      {"rdiv_scalar", [](const OpCase& c) { return Outputs{c.real("scalar") / c.first()}; }},
      {"neg", of_one(neg)},
      {"exp", of_one(exp)},
      {"log", of_one(log)},
      {"sqrt", of_one(sqrt)},
      {"tanh", of_one(tanh)},
      {"sigmoid", of_one(sigmoid)},
      {"relu", of_one(relu)},
      {"silu", of_one(silu)},
      {"abs", of_one(abs)},
      {"gelu", [](const OpCase& c) { return Outputs{gelu_of(c)}; }},
      {"pow", [](const OpCase& c) { return Outputs{pow(c.first(), c.real("exponent"))}; }},
      {"clamp",
       [](const OpCase& c) {
         return Outputs{
             clamp(c.first(), c.has("min") ? c.real("min") : -kInf, c.has("max") ? c.real("max") : kInf)};
       }},
      {"where", [](const OpCase& c) { return Outputs{where(c.constant("cond"), c["a"], c["b"])}; }},
      {"masked_fill",
       [](const OpCase& c) { return Outputs{masked_fill(c["x"], c.constant("mask"), c.real("value"))}; }},
  };
}

}  // namespace minigpt::reference
