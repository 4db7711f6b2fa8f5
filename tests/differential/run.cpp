#include "tests/differential/run.h"

#include <cstring>

#include "autograd/checkpoint.h"
#include "autograd/ops/concat.h"
#include "autograd/ops/mul.h"
#include "autograd/ops/reshape.h"
#include "autograd/ops/sum.h"
#include "tensor/matmul.h"
#include "tensor/views.h"

namespace minigpt::differential {
namespace {

std::vector<double> numbers(const Tensor& x) { return x.to(DType::f64).to_vector<double>(); }

// The tensor of a leaf; with an edit, it holds something else first.
Tensor leaf_tensor(const Leaf& leaf, DType dtype) {
  if (leaf.edit == Edit::none) return leaf.stored.tensor(dtype);
  Stored before = leaf.stored;
  Tensor plain = Stored{leaf.stored.shape, leaf.stored.values, leaf.stored.dtype, {}}.tensor(dtype);
  for (double& v : before.values) v = leaf.edit == Edit::scaled ? 2 * v : 0;
  Tensor x = before.tensor(dtype);
  switch (leaf.edit) {
    case Edit::none:
      break;
    case Edit::copied:
      x.copy_(plain);
      break;
    case Edit::filled_by_view: {
      Tensor to = x, from = plain;
      for (int i = x.rank() - 1; i > 0; --i) to = transpose(to, 0, i), from = transpose(from, 0, i);
      to.copy_(from);
      break;
    }
    case Edit::scaled:
      mul_(x, 0.5);
      break;
    case Edit::added:
      add_(x, plain);
      break;
  }
  return x;
}

std::vector<Variable> leaf_variables(const Expression& e, DType dtype) {
  std::vector<Variable> leaves;
  for (const Leaf& leaf : e.leaves) leaves.emplace_back(leaf_tensor(leaf, dtype), leaf.wants_gradient);
  return leaves;
}

// All values, from those of the leaves.
std::vector<Variable> compute(const Expression& e, const std::vector<Variable>& leaves, bool composed) {
  std::vector<Variable> values(static_cast<std::size_t>(e.values));
  for (std::size_t i = 0; i < leaves.size(); ++i)
    values[static_cast<std::size_t>(e.leaves[i].value)] = leaves[i];
  for (const Step& step : e.steps) {
    std::vector<Variable> operands;
    for (int o : step.operands) operands.push_back(o < 0 ? Variable() : values[static_cast<std::size_t>(o)]);
    const bool other = composed && step.op->composed;
    const std::vector<Variable> results =
        (other ? step.op->composed : step.op->library)(operands, step.attributes);
    check(results.size() == step.results.size(), "differential", "{} gave {} results", step.op->name,
          results.size());
    for (std::size_t i = 0; i < results.size(); ++i)
      values[static_cast<std::size_t>(step.results[i])] = results[i];
  }
  return values;
}

std::vector<Variable> roots_of(const Expression& e, const std::vector<Variable>& values) {
  std::vector<Variable> roots;
  for (const Root& root : e.roots) roots.push_back(values[static_cast<std::size_t>(root.value)]);
  return roots;
}

ScopedMatmulPrecision precision_of(const Expression& e) {
  return ScopedMatmulPrecision(e.bf16_products ? Precision::bf16 : Precision::full);
}

// The roots as one vector, and its gradient: what checkpoint and gradcheck take.
Variable joined(const std::vector<Variable>& roots) {
  std::vector<Variable> flat;
  for (const Variable& r : roots) flat.push_back(reshape(r, {r.numel()}));
  return concat(flat);
}

std::vector<double> joined_gradient(const Expression& e) {
  std::vector<double> all;
  for (const Root& root : e.roots)
    all.insert(all.end(), root.gradient.values.begin(), root.gradient.values.end());
  return all;
}

// The roots that depend on a leaf that wants a gradient, with their gradients.
struct Outputs {
  std::vector<Variable> roots, gradients;
};
Outputs outputs_of(const Expression& e, const std::vector<Variable>& roots, DType dtype) {
  Outputs out;
  for (std::size_t i = 0; i < roots.size(); ++i) {
    if (!roots[i].requires_grad()) continue;
    out.roots.push_back(roots[i]);
    out.gradients.emplace_back(e.roots[i].gradient.tensor(dtype));
  }
  return out;
}

std::vector<Variable> wanted_of(const std::vector<Variable>& leaves) {
  std::vector<Variable> wanted;
  for (const Variable& x : leaves)
    if (x.requires_grad()) wanted.push_back(x);
  return wanted;
}

std::vector<std::vector<double>> numbers_of(const std::vector<Variable>& gradients) {
  std::vector<std::vector<double>> out;
  for (const Variable& g : gradients) out.push_back(g.defined() ? numbers(g.value()) : std::vector<double>());
  return out;
}

}  // namespace

Outcome run(const Expression& e, const RunOptions& options) {
  const ScopedMatmulPrecision precision = precision_of(e);
  const std::vector<Variable> leaves = leaf_variables(e, options.dtype);
  std::vector<Variable> wanted = wanted_of(leaves);
  Outcome out;
  GradOptions grad_options;
  grad_options.allow_unused = true;
  grad_options.create_graph = options.create_graph;

  if (options.joined) {
    // The first leaf is the input, the others are parameters.
    const std::vector<Variable> parameters(leaves.begin() + 1, leaves.end());
    const auto all = [&](const Variable& x, bool) {
      std::vector<Variable> own = leaves;
      own[0] = x;
      return joined(roots_of(e, compute(e, own, false)));
    };
    const Variable y = options.checkpoint ? checkpoint(leaves[0], parameters, all) : all(leaves[0], false);
    const std::vector<double> gradient = joined_gradient(e);
    grad_options.gradients = {Variable(Tensor::from<double>(gradient, y.shape()).to(options.dtype))};
    out.values = {numbers(y.value())};
    out.gradients.resize(wanted.size());
    if (y.requires_grad()) out.gradients = numbers_of(grad({y}, wanted, grad_options));
    return out;
  }

  std::vector<Variable> values;
  if (options.composed) {
    const ScopedComposition composition;
    values = compute(e, leaves, true);
  } else {
    values = compute(e, leaves, false);
  }
  const std::vector<Variable> roots = roots_of(e, values);
  for (const Variable& root : roots) out.values.push_back(numbers(root.value()));
  const Outputs outputs = outputs_of(e, roots, options.dtype);
  if (outputs.roots.empty()) {
    out.gradients.resize(wanted.size());
    return out;
  }
  values.clear();
  if (options.accumulate) {
    for (std::size_t i = 0; i < outputs.roots.size(); ++i) {
      BackwardOptions backward;
      backward.gradient = outputs.gradients[i];
      backward.retain_graph = i + 1 < outputs.roots.size();
      outputs.roots[i].backward(backward);
    }
    for (Variable& x : wanted)
      out.gradients.push_back(x.has_grad() ? numbers(x.grad().value()) : std::vector<double>());
    return out;
  }
  grad_options.gradients = outputs.gradients;
  out.gradients = numbers_of(grad(outputs.roots, wanted, grad_options));
  return out;
}

std::vector<std::vector<double>> run_unrecorded(const Expression& e, DType dtype) {
  const ScopedMatmulPrecision precision = precision_of(e);
  const NoGrad no_grad;
  std::vector<std::vector<double>> values;
  for (const Variable& root : roots_of(e, compute(e, leaf_variables(e, dtype), false)))
    values.push_back(numbers(root.value()));
  return values;
}

std::vector<std::vector<double>> second_derivative(const Expression& e,
                                                   const std::vector<std::vector<double>>& directions,
                                                   bool under_checkpoint) {
  const std::vector<Variable> leaves = leaf_variables(e, DType::f64);
  const std::vector<Variable> wanted = wanted_of(leaves);
  Outputs outputs;
  if (under_checkpoint) {
    const Variable y =
        checkpoint(leaves[0], {leaves.begin() + 1, leaves.end()}, [&](const Variable& x, bool) {
          std::vector<Variable> own = leaves;
          own[0] = x;
          return joined(roots_of(e, compute(e, own, false)));
        });
    if (y.requires_grad())
      outputs = {{y},
                 {Variable(Tensor::from<double>(std::span<const double>(joined_gradient(e)), y.shape()))}};
  } else {
    outputs = outputs_of(e, roots_of(e, compute(e, leaves, false)), DType::f64);
  }
  if (outputs.roots.empty()) return std::vector<std::vector<double>>(wanted.size());
  GradOptions options;
  options.allow_unused = true;
  options.create_graph = true;
  options.gradients = outputs.gradients;
  const std::vector<Variable> first = grad(outputs.roots, wanted, options);
  std::vector<Variable> terms;
  for (std::size_t i = 0; i < first.size(); ++i) {
    if (!first[i].defined() || !first[i].requires_grad()) continue;
    const Variable direction(Tensor::from<double>(directions[i], first[i].shape()));
    terms.push_back(reshape(sum(first[i] * direction), {1}));
  }
  if (terms.empty()) return std::vector<std::vector<double>>(wanted.size());
  GradOptions again;
  again.allow_unused = true;
  return numbers_of(grad({sum(concat(terms))}, wanted, again));
}

GradcheckResult finite_differences(const Expression& e, const GradcheckOptions& options) {
  std::vector<Variable> leaves = leaf_variables(e, DType::f64);
  for (std::size_t i = 0; i < leaves.size(); ++i)
    if (!e.leaves[i].stored.layout.repeated.empty())
      leaves[i] = Variable(leaves[i].value().clone(), leaves[i].requires_grad());
  return gradcheck([&](const std::vector<Variable>& x) { return joined(roots_of(e, compute(e, x, false))); },
                   leaves, options);
}

EditOutcome edited_before_backward(const Expression& e, const Outcome& expected, DType dtype,
                                   std::uint64_t choice) {
  const ScopedMatmulPrecision precision = precision_of(e);
  const std::vector<Variable> leaves = leaf_variables(e, dtype);
  const std::vector<Variable> wanted = wanted_of(leaves);
  // Leaves, results, indices and masks.
  std::vector<Tensor> targets;
  Outputs outputs;
  {
    MadeTensors made;
    const std::vector<Variable> values = compute(e, leaves, false);
    targets = std::move(made.tensors);
    for (const Variable& v : values)
      if (v.defined()) targets.push_back(v.value());
    outputs = outputs_of(e, roots_of(e, values), dtype);
  }
  if (outputs.roots.empty()) return EditOutcome::harmless;
  Tensor target = targets[choice % targets.size()];
  for (int axis = 0; axis < target.rank(); ++axis)
    if (target.strides()[axis] == 0 && target.dim(axis) > 1)
      return EditOutcome::harmless;  // cannot be written
  if (choice / 1024 % 2 == 0 || !is_floating(target.dtype()))
    target.fill_(is_floating(target.dtype()) ? 0.125 : 1);
  else
    mul_(target, -3);
  GradOptions options;
  options.allow_unused = true;
  options.gradients = outputs.gradients;
  try {
    const auto gradients = numbers_of(grad(outputs.roots, wanted, options));
    return gradients == expected.gradients ? EditOutcome::harmless : EditOutcome::wrong;
  } catch (const Error& error) {
    const bool named = std::strstr(error.what(), "changed in place") != nullptr;
    return named ? EditOutcome::refused : EditOutcome::wrong;
  }
}

}  // namespace minigpt::differential
