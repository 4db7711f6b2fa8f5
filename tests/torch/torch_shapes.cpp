// Shapes, pieces, reductions and indices.
#include "tests/torch/torch_ops.h"

namespace minigpt::differential {
namespace {

using Ts = std::vector<Torch>;
using A = Attributes;

std::vector<std::int64_t> ints_from(const A& a, std::size_t from) {
  return {a.ints.begin() + static_cast<std::ptrdiff_t>(from), a.ints.end()};
}

// An op with keepdim in ints[0] and the axes behind it; none named means all.
TorchOp reduction(Torch (*all)(const Torch&), Torch (*some)(const Torch&, at::IntArrayRef, bool)) {
  return [all, some](const Ts& x, const A& a) {
    std::vector<std::int64_t> axes = ints_from(a, 1);
    if (axes.empty() && !a.ints[0]) return Ts{all(x[0])};
    if (axes.empty())
      for (std::int64_t i = 0; i < x[0].dim(); ++i) axes.push_back(i);
    return Ts{axes.empty() ? all(x[0]) : some(x[0], axes, a.ints[0] != 0)};
  };
}

// The variance by its formula: libtorch's correction is a whole number.
Ts variance(const Ts& x, const A& a) {
  std::vector<std::int64_t> axes = ints_from(a, 1);
  if (axes.empty())
    for (std::int64_t i = 0; i < x[0].dim(); ++i) axes.push_back(i);
  if (axes.empty()) return {(x[0] - x[0]) / (1 - a.reals[0])};
  double n = 1;
  for (std::int64_t axis : axes) n *= static_cast<double>(x[0].size(axis));
  const Torch centred = x[0] - x[0].mean(axes, true);
  return {(centred * centred).sum(axes, a.ints[0] != 0) / (n - a.reals[0])};
}

Ts padded(const Ts& x, const A& a) {
  const std::int64_t axis = a.ints[0], start = a.ints[1], step = a.ints[2];
  const Torch zeros = torch::zeros(ints_from(a, 3), torch::kFloat64);
  const std::int64_t end = std::min(start + x[0].size(axis) * step, zeros.size(axis));
  return {torch::slice_scatter(zeros, x[0], axis, start, end, step)};
}

Ts gathered_rows(const Ts& x, const A& a) {
  const Torch index = to_torch(a.tensors[0]);
  // libtorch wants a negative number where there is no padding.
  return {torch::embedding(x[0], index, a.ints.empty() ? -1 : a.ints[0])};
}

Ts scattered_rows(const Ts& x, const A& a) {
  const Torch index = to_torch(a.tensors[0]).reshape({-1});
  const std::int64_t c = x[0].size(-1);
  return {
      torch::zeros({a.ints[0], c}, torch::kFloat64).index_add(0, index, x[0].reshape({index.size(0), c}))};
}

}  // namespace

std::map<std::string, TorchOp> torch_shapes() {
  const TorchOp reshape = [](const Ts& x, const A& a) { return Ts{x[0].reshape(a.ints)}; };
  const TorchOp concat = [](const Ts& x, const A& a) { return Ts{torch::cat(x, a.ints[0])}; };
  return {
      {"reshape", reshape},
      {"view", reshape},
      {"flatten", [](const Ts& x, const A& a) { return Ts{x[0].flatten(a.ints[0], a.ints[1])}; }},
      {"permute", [](const Ts& x, const A& a) { return Ts{x[0].permute(a.ints)}; }},
      {"transpose", [](const Ts& x, const A& a) { return Ts{x[0].transpose(a.ints[0], a.ints[1])}; }},
      {"squeeze",
       [](const Ts& x, const A& a) { return Ts{a.ints.empty() ? x[0].squeeze() : x[0].squeeze(a.ints[0])}; }},
      {"unsqueeze", [](const Ts& x, const A& a) { return Ts{x[0].unsqueeze(a.ints[0])}; }},
      {"expand", [](const Ts& x, const A& a) { return Ts{x[0].expand(a.ints)}; }},
      {"slice",
       [](const Ts& x, const A& a) { return Ts{x[0].slice(a.ints[0], a.ints[1], a.ints[2], a.ints[3])}; }},
      {"pad", padded},
      {"select", [](const Ts& x, const A& a) { return Ts{x[0].select(a.ints[0], a.ints[1])}; }},
      {"split",
       [](const Ts& x, const A& a) { return torch::split_with_sizes(x[0], ints_from(a, 1), a.ints[0]); }},
      {"split evenly", [](const Ts& x, const A& a) { return torch::split(x[0], a.ints[1], a.ints[0]); }},
      {"concat", concat},
      {"stack", [](const Ts& x, const A& a) { return Ts{torch::stack(x, a.ints[0])}; }},
      {"sum", reduction([](const Torch& x) { return x.sum(); },
                        [](const Torch& x, at::IntArrayRef axes, bool keep) { return x.sum(axes, keep); })},
      {"mean", reduction([](const Torch& x) { return x.mean(); },
                         [](const Torch& x, at::IntArrayRef axes, bool keep) { return x.mean(axes, keep); })},
      {"var", variance},
      {"amax", reduction([](const Torch& x) { return x.amax(); },
                         [](const Torch& x, at::IntArrayRef axes, bool keep) { return x.amax(axes, keep); })},
      {"max of all", [](const Ts& x, const A&) { return Ts{x[0].max()}; }},
      {"max", [](const Ts& x, const A& a) { return Ts{std::get<0>(x[0].max(a.ints[1], a.ints[0] != 0))}; }},
      {"gather", [](const Ts& x, const A& a) { return Ts{x[0].gather(a.ints[0], to_torch(a.tensors[0]))}; }},
      {"scatter_add",
       [](const Ts& x, const A& a) {
         return Ts{torch::zeros(ints_from(a, 1), torch::kFloat64)
                       .scatter_add(a.ints[0], to_torch(a.tensors[0]), x[0])};
       }},
      {"index_select",
       [](const Ts& x, const A& a) { return Ts{x[0].index_select(a.ints[0], to_torch(a.tensors[0]))}; }},
      {"index_add",
       [](const Ts& x, const A& a) {
         return Ts{torch::zeros(ints_from(a, 1), torch::kFloat64)
                       .index_add(a.ints[0], to_torch(a.tensors[0]), x[0])};
       }},
      {"embedding", gathered_rows},
      {"embedding_backward", scattered_rows},
  };
}

}  // namespace minigpt::differential
