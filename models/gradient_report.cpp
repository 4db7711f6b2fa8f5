#include "models/gradient_report.h"

#include <fmt/core.h>

#include <cmath>
#include <map>

namespace minigpt {
namespace {

constexpr int kBins = 32;

constexpr double kFar = 30;  // between the first and the last block; healthy models stay within a few

// "transformer.h.3.mlp.c_fc.weight" -> 3; -1 outside of the blocks.
std::int64_t block_of(std::string_view name) {
  constexpr std::string_view prefix = "transformer.h.";
  if (!name.starts_with(prefix)) return -1;
  std::int64_t block = 0;
  for (const char c : name.substr(prefix.size())) {
    if (c < '0' || c > '9') break;
    block = 10 * block + (c - '0');
  }
  return block;
}

// Root mean square of the gradients of the matrices of each block.
std::map<std::int64_t, double> block_scales(const GradientReport& report) {
  std::map<std::int64_t, double> squares, counts;
  for (const ParameterGradient& p : report.parameters) {
    const std::int64_t block = block_of(p.name);
    if (block < 0 || p.shape.size() < 2 || !p.has_gradient) continue;
    squares[block] += p.grad.norm * p.grad.norm;
    counts[block] += static_cast<double>(p.grad.count);
  }
  for (auto& [block, value] : squares) value = std::sqrt(value / counts[block]);
  return squares;
}

void compare_depths(const GradientReport& report, std::vector<Verdict>& verdicts) {
  const std::map<std::int64_t, double> scales = block_scales(report);
  if (scales.size() < 2) return;
  const double first = scales.begin()->second, last = scales.rbegin()->second;
  if (first == 0 || last == 0) return;  // told as zero
  const std::string where = fmt::format("transformer.h.{}", scales.begin()->first);
  const std::string numbers = fmt::format(
      "the gradients of the first block's matrices are {:.3g} (root mean square), those of the last block's "
      "{:.3g}",
      first, last);
  if (first < last / kFar)
    verdicts.push_back(
        {"vanishing", where, fmt::format("Vanishing: {}, {:.0f} times as large.", numbers, last / first)});
  if (first > last * kFar)
    verdicts.push_back(
        {"exploding", where,
         fmt::format("Exploding on the way down: {}, {:.0f} times as small.", numbers, first / last)});
}

}  // namespace

double ParameterGradient::ratio() const { return weight.norm > 0 ? grad.norm / weight.norm : 0; }

GradientReport inspect_gradients(const Gpt& model, const Tensor& tokens, const Tensor& targets) {
  Gpt shared = model;  // a copy shares the parameters
  const std::vector<NamedParameter> parameters = shared.parameters();
  zero_grad(parameters);
  const Variable loss = model.loss(tokens, targets);
  GradientReport report;
  report.loss = loss.item();
  loss.backward();
  double squares = 0;
  for (const NamedParameter& p : parameters) {
    ParameterGradient& row = report.parameters.emplace_back();
    row.name = p.name;
    row.shape = p.variable.shape();
    row.weight = statistics(p.variable.value(), kBins);
    row.has_gradient = p.variable.has_grad();
    if (row.has_gradient) row.grad = statistics(p.variable.grad().value(), kBins);
    squares += row.grad.norm * row.grad.norm;
  }
  report.norm = std::sqrt(squares);
  zero_grad(parameters);
  return report;
}

std::vector<Verdict> gradient_verdicts(const GradientReport& report, double grad_clip) {
  std::vector<Verdict> verdicts;
  for (const ParameterGradient& p : report.parameters)
    if (p.grad.not_finite > 0 || p.weight.not_finite > 0)
      verdicts.push_back(
          {"not-finite", p.name,
           fmt::format(
               "Not finite: {} of {} elements of the gradient and {} of the weight are NaN or infinite.",
               p.grad.not_finite, p.weight.count, p.weight.not_finite)});
  for (const ParameterGradient& p : report.parameters) {
    if (!p.has_gradient) {
      verdicts.push_back({"missing", p.name, "Missing: nothing on the way to the loss uses it."});
    } else if (p.grad.norm == 0 && p.grad.not_finite == 0) {
      verdicts.push_back(
          {"zero", p.name, "Zero: every element of the gradient is exactly 0, so it cannot learn."});
    }
  }
  compare_depths(report, verdicts);
  for (const ParameterGradient& p : report.parameters)
    if (p.shape.size() == 2 && p.grad.norm > 0 && p.grad.zeros > 0.5)
      verdicts.push_back(
          {"sparse", p.name,
           fmt::format("Sparse: {:.0f} % of the gradient is exactly 0; rows of an embedding are, where their "
                       "character is not in the batch.",
                       100 * p.grad.zeros)});
  if (grad_clip > 0 && report.norm > grad_clip)
    verdicts.push_back({"clipped", "all parameters",
                        fmt::format("Clipped: the norm of all gradients is {:.3g}, the limit {:.3g}; a step "
                                    "would use {:.3g} of them.",
                                    report.norm, grad_clip, grad_clip / report.norm)});
  return verdicts;
}

}  // namespace minigpt
