// Element by element, and masks.
#include "tests/differential/plain.h"
#include "tests/torch/torch_ops.h"

namespace minigpt::differential {
namespace {

using Ts = std::vector<Torch>;
using A = Attributes;

TorchOp unary(Torch (*f)(const Torch&)) {
  return [f](const Ts& x, const A&) { return Ts{f(x[0])}; };
}
TorchOp binary(Torch (*f)(const Torch&, const Torch&)) {
  return [f](const Ts& x, const A&) { return Ts{f(x[0], x[1])}; };
}
TorchOp scalar(Torch (*f)(const Torch&, double)) {
  return [f](const Ts& x, const A& a) { return Ts{f(x[0], a.reals[0])}; };
}

Ts dropped(const Ts& x, const A& a) {
  const double p = a.reals[0];
  if (p == 0) return {x[0]};
  if (p == 1) return {x[0] * 0};
  Torch mask = torch::empty(x[0].sizes(), torch::kFloat64);
  for (std::int64_t i = 0; i < mask.numel(); ++i) mask.data_ptr<double>()[i] = kept(a.tensors[0], i);
  return {x[0] * mask / (1 - p)};
}

Ts clamped(const Ts& x, const A& a) {
  c10::optional<at::Scalar> low, high;
  if (a.ints[0] != 1) low = a.reals[0];
  if (a.ints[0] != 2) high = a.reals[1];
  return {torch::clamp(x[0], low, high)};
}

}  // namespace

std::map<std::string, TorchOp> torch_elementwise() {
  return {
      {"abs", unary([](const Torch& x) { return x.abs(); })},
      {"alias", unary([](const Torch& x) { return x.clone(); })},
      {"clamp", clamped},
      {"cos", unary([](const Torch& x) { return x.cos(); })},
      {"erf", unary([](const Torch& x) { return x.erf(); })},
      {"exp", unary([](const Torch& x) { return x.exp(); })},
      {"gelu", [](const Ts& x, const A& a) { return Ts{torch::gelu(x[0], a.ints[0] ? "tanh" : "none")}; }},
      {"log", unary([](const Torch& x) { return x.log(); })},
      {"neg", unary([](const Torch& x) { return -x; })},
      {"pow", scalar([](const Torch& x, double p) { return x.pow(p); })},
      {"relu", unary([](const Torch& x) { return x.relu(); })},
      {"relu_backward",
       [](const Ts& x, const A& a) { return Ts{x[0] * (to_torch(a.tensors[0]) > 0).to(torch::kFloat64)}; }},
      {"sigmoid", unary([](const Torch& x) { return x.sigmoid(); })},
      {"silu", unary([](const Torch& x) { return torch::silu(x); })},
      {"sin", unary([](const Torch& x) { return x.sin(); })},
      {"sqrt", unary([](const Torch& x) { return x.sqrt(); })},
      {"tanh", unary([](const Torch& x) { return x.tanh(); })},
      {"to_dtype",
       [](const Ts& x, const A& a) {
         return Ts{a.ints[0] ? x[0].to(torch::kFloat32).to(torch::kFloat64) : x[0].clone()};
       }},
      {"add", binary([](const Torch& a, const Torch& b) { return a + b; })},
      {"add scalar", scalar([](const Torch& x, double c) { return x + c; })},
      {"sub", binary([](const Torch& a, const Torch& b) { return a - b; })},
      {"sub scalar", scalar([](const Torch& x, double c) { return x - c; })},
      {"sub from", scalar([](const Torch& x, double c) { return c - x; })},
      {"mul", binary([](const Torch& a, const Torch& b) { return a * b; })},
      {"mul scalar", scalar([](const Torch& x, double c) { return x * c; })},
      {"div", binary([](const Torch& a, const Torch& b) { return a / b; })},
      {"div scalar", scalar([](const Torch& x, double c) { return x / c; })},
      {"div into", scalar([](const Torch& x, double c) { return c / x; })},
      {"maximum", binary([](const Torch& a, const Torch& b) { return torch::maximum(a, b); })},
      {"minimum", binary([](const Torch& a, const Torch& b) { return torch::minimum(a, b); })},
      {"dropout", dropped},
      {"masked_fill",
       [](const Ts& x, const A& a) { return Ts{x[0].masked_fill(to_torch(a.tensors[0]), a.reals[0])}; }},
      {"where", [](const Ts& x, const A& a) { return Ts{torch::where(to_torch(a.tensors[0]), x[0], x[1])}; }},
      {"tril", [](const Ts& x, const A& a) { return Ts{x[0].tril(a.ints[0])}; }},
      {"triu", [](const Ts& x, const A& a) { return Ts{x[0].triu(a.ints[0])}; }},
  };
}

}  // namespace minigpt::differential
