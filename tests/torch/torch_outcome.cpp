#include "tests/torch/torch_outcome.h"

#include "tests/torch/torch_ops.h"

namespace minigpt::differential {
namespace {

const std::map<std::string, TorchOp>& torch_ops() {
  static const std::map<std::string, TorchOp> ops = [] {
    std::map<std::string, TorchOp> all;
    for (auto part : {torch_elementwise(), torch_shapes(), torch_rows()}) all.merge(part);
    return all;
  }();
  return ops;
}

std::vector<double> numbers(const Torch& x) {
  const Torch flat = x.detach().contiguous();
  return {flat.data_ptr<double>(), flat.data_ptr<double>() + flat.numel()};
}

}  // namespace

Torch to_torch(const Stored& x) {
  const std::vector<std::int64_t> shape = to_list(x.shape);
  const Torch y = torch::from_blob(const_cast<double*>(x.values.data()), shape, torch::kFloat64).clone();
  return y.to(x.dtype == DType::i32       ? torch::kInt64
              : x.dtype == DType::boolean ? torch::kBool
                                          : torch::kFloat64);
}

std::vector<std::string> unknown_to_torch() {
  std::vector<std::string> names;
  for (const Op& op : all_ops())
    if (!torch_ops().contains(op.name)) names.emplace_back(op.name);
  return names;
}

std::optional<Outcome> torch_outcome(const Expression& e) {
  std::vector<Torch> values(static_cast<std::size_t>(e.values)), wanted;
  for (const Leaf& leaf : e.leaves) {
    Torch x = to_torch(leaf.stored);
    x.set_requires_grad(leaf.wants_gradient);
    if (leaf.wants_gradient) wanted.push_back(x);
    values[static_cast<std::size_t>(leaf.value)] = x;
  }
  for (const Step& step : e.steps) {
    std::vector<Torch> operands;
    for (int o : step.operands) operands.push_back(o < 0 ? Torch() : values[static_cast<std::size_t>(o)]);
    const std::vector<Torch> results = torch_ops().at(step.op->name)(operands, step.attributes);
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (results[i].isnan().any().item<bool>()) return std::nullopt;
      values[static_cast<std::size_t>(step.results[i])] = results[i];
    }
  }
  Outcome out;
  std::vector<Torch> roots, seeds;
  for (const Root& root : e.roots) {
    const Torch& y = values[static_cast<std::size_t>(root.value)];
    out.values.push_back(numbers(y));
    if (!y.requires_grad()) continue;
    roots.push_back(y);
    seeds.push_back(to_torch(root.gradient));
  }
  out.gradients.resize(wanted.size());
  if (roots.empty()) return out;
  const std::vector<Torch> gradients = torch::autograd::grad(roots, wanted, seeds, false, false, true);
  for (std::size_t i = 0; i < wanted.size(); ++i)
    if (gradients[i].defined()) out.gradients[i] = numbers(gradients[i]);
  return out;
}

}  // namespace minigpt::differential
