// Softmax and its relatives, normalisation, products, attention.
#include <cmath>

#include "tests/differential/plain.h"
#include "tests/torch/torch_ops.h"

namespace minigpt::differential {
namespace {

using Ts = std::vector<Torch>;
using A = Attributes;

Torch activated(const Torch& x, std::int64_t f) {
  switch (static_cast<Activation>(f)) {
    case Activation::none:
      return x;
    case Activation::relu:
      return x.relu();
    case Activation::relu_squared:
      return x.relu() * x.relu();
    case Activation::silu:
      return torch::silu(x);
    case Activation::gelu_erf:
      return torch::gelu(x, "none");
    case Activation::gelu_tanh:
      return torch::gelu(x, "tanh");
  }
  return x;
}

Torch affine(const Torch& x, const Torch& w, const Torch& b) {
  const Torch y = x.matmul(w.t());
  return b.defined() ? y + b : y;
}

Torch rms_norm(const Torch& x, const Torch& weight, double eps) {
  const Torch y = x / ((x * x).mean(-1, true) + eps).sqrt();
  return weight.defined() ? y * weight : y;
}

Torch layer_norm(const Torch& x, std::int64_t axes, const Torch& weight, const Torch& bias, double eps) {
  const auto sizes = x.sizes();
  return torch::layer_norm(x, sizes.slice(sizes.size() - static_cast<std::size_t>(axes)), weight, bias, eps);
}

Ts softmax_of(const Ts& x, const A& a) {
  if (a.tensors.empty()) return {x[0].softmax(a.ints[0])};
  return {x[0].masked_fill(to_torch(a.tensors[0]), -INFINITY).softmax(a.ints[0])};
}

Ts cross_entropy_of(const Ts& x, const A& a) {
  static const std::int64_t reductions[] = {at::Reduction::Mean, at::Reduction::Sum, at::Reduction::None};
  return {torch::nll_loss(x[0].log_softmax(1), to_torch(a.tensors[0]), {}, reductions[a.ints[0]], a.ints[1])};
}

// Queries, keys, values as (B, H, T, D).
std::vector<Torch> heads_of(const Torch& qkv, std::int64_t heads) {
  std::vector<Torch> out;
  const std::int64_t c = qkv.size(2) / 3;
  for (const Torch& part : qkv.split(c, 2))
    out.push_back(part.reshape({qkv.size(0), qkv.size(1), heads, c / heads}).transpose(1, 2));
  return out;
}
Torch merged(const Torch& x) {
  return x.transpose(1, 2).reshape({x.size(0), x.size(2), x.size(1) * x.size(3)});
}

Ts attention(const Ts& x, const A& a) {
  const Ts parts = heads_of(x[0], a.ints[0]);
  const std::int64_t length = x[0].size(1);
  Torch scores =
      parts[0].matmul(parts[1].transpose(-2, -1)) / std::sqrt(static_cast<double>(parts[0].size(3)));
  scores = scores.masked_fill(torch::ones({length, length}, torch::kBool).triu(1), -INFINITY);
  Torch weights = scores.softmax(-1);
  const double p = a.reals[0];
  if (p == 1) weights = weights * 0;
  if (p > 0 && p < 1) {
    Torch mask = torch::empty(weights.sizes(), torch::kFloat64);
    for (std::int64_t i = 0; i < mask.numel(); ++i) mask.data_ptr<double>()[i] = kept(a.tensors[0], i);
    weights = weights * mask / (1 - p);
  }
  return {merged(weights.matmul(parts[2]))};
}

Ts qk_normed(const Ts& x, const A& a) {
  const Ts parts = heads_of(x[0], a.ints[0]);
  const auto norm = [&](const Torch& v) { return merged(rms_norm(v, {}, a.reals[0])); };
  return {torch::cat({norm(parts[0]), norm(parts[1]), merged(parts[2])}, 2)};
}

Ts rotated(const Ts& x, const A& a) {
  const Ts parts = heads_of(x[0], a.ints[0]);
  const Torch table = to_torch(a.tensors[0]).slice(1, a.ints[1], a.ints[1] + x[0].size(1));
  const Torch c = table.select(0, 0), s = table.select(0, 1) * (a.ints[2] ? -1 : 1);
  const auto turn = [&](const Torch& v) {
    const Ts halves = v.chunk(2, -1);
    return merged(torch::cat({halves[0] * c - halves[1] * s, halves[0] * s + halves[1] * c}, -1));
  };
  return {torch::cat({turn(parts[0]), turn(parts[1]), merged(parts[2])}, 2)};
}

}  // namespace

std::map<std::string, TorchOp> torch_rows() {
  return {
      {"activate", [](const Ts& x, const A& a) { return Ts{activated(x[0], a.ints[0])}; }},
      {"softmax", softmax_of},
      {"log_softmax", [](const Ts& x, const A& a) { return Ts{x[0].log_softmax(a.ints[0])}; }},
      {"cross_entropy", cross_entropy_of},
      {"layer_norm",
       [](const Ts& x, const A& a) { return Ts{layer_norm(x[0], a.ints[0], x[1], x[2], a.reals[0])}; }},
      {"rms_norm", [](const Ts& x, const A& a) { return Ts{rms_norm(x[0], x[1], a.reals[0])}; }},
      {"residual_layer_norm",
       [](const Ts& x, const A& a) {
         const Torch sum = x[0] + x[1];
         return Ts{sum, layer_norm(sum, 1, x[2], x[3], a.reals[0])};
       }},
      {"residual_rms_norm",
       [](const Ts& x, const A& a) {
         const Torch sum = x[0] + x[1];
         return Ts{sum, rms_norm(sum, x[2], a.reals[0])};
       }},
      {"layer_norm_linear",
       [](const Ts& x, const A& a) {
         return Ts{affine(layer_norm(x[0], 1, x[1], x[2], a.reals[0]), x[3], x[4])};
       }},
      {"rms_norm_linear",
       [](const Ts& x, const A& a) { return Ts{affine(rms_norm(x[0], x[1], a.reals[0]), x[2], x[3])}; }},
      {"matmul", [](const Ts& x, const A&) { return Ts{x[0].matmul(x[1])}; }},
      {"linear", [](const Ts& x, const A&) { return Ts{affine(x[0], x[1], x[2])}; }},
      {"linear_activation",
       [](const Ts& x, const A& a) { return Ts{activated(affine(x[0], x[1], x[2]), a.ints[0])}; }},
      {"mlp",
       [](const Ts& x, const A& a) {
         return Ts{affine(activated(affine(x[0], x[1], x[2]), a.ints[0]), x[3], x[4])};
       }},
      {"qk_norm", qk_normed},
      {"rotary", rotated},
      {"causal_attention", attention},
  };
}

}  // namespace minigpt::differential
