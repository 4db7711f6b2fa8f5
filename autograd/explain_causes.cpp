// What an operation's saved numbers tell about a gradient that ends in it.
#include <cmath>

#include "autograd/explain_trace.h"
#include "tensor/arithmetic.h"
#include "tensor/compare.h"
#include "tensor/reduce.h"
#include "tensor/triangle.h"
#include "tensor/unary.h"
#include "tensor/views.h"

namespace minigpt::detail {
namespace {

double share_of(const Tensor& flags) { return mean(flags.to(DType::f64)).item(); }
double largest(const Tensor& x) { return x.defined() && x.numel() > 0 ? max(minigpt::abs(x)).item() : 0; }

const Tensor* saved_as(const Node& node, int kind) {
  for (const SavedTensor& s : node.saved)
    if (s.input == kind && s.tensor.defined()) return &s.tensor;
  return nullptr;
}

bool is_one_of(std::string_view op, std::initializer_list<std::string_view> list) {
  for (const std::string_view item : list)
    if (op == item) return true;
  return false;
}

// The name of input i, if it is a leaf that has one, or the operation that made it.
std::string name_of_input(const Node& node, int i) {
  const Edge& edge = node.inputs[i];
  if (edge.leaf && *edge.leaf->name) return edge.leaf->name;
  if (edge.node) return "the output of " + label_of(*edge.node);
  return fmt::format("input {}", i);
}

std::string shares(const Tensor& flags) {
  const double share = share_of(flags);
  return fmt::format("{:.0f} of {} values ({:.2f} %)", share * static_cast<double>(flags.numel()),
                     flags.numel(), 100 * share);
}

GradientCause mask_cause(const Node& node) {
  const Tensor hidden = *saved_as(node, SavedTensor::kOther);
  const std::int64_t T = node.shape.size() >= 2 ? node.shape[node.shape.size() - 2] : 0;
  const std::int64_t S = node.shape.size() >= 1 ? node.shape[node.shape.size() - 1] : 0;
  GradientCause c{"masked", label_of(node), ""};
  const bool square = hidden.rank() >= 2 && hidden.dim(-2) == T && hidden.dim(-1) == S && T > 1;
  if (square && hidden.rank() == 2 &&
      max(ne(hidden.to(DType::f32), logical_not(tril_mask(T, S)).to(DType::f32)).to(DType::f32)).item() == 0)
    c.id = "masked_causal";
  else if (hidden.rank() >= 2 && hidden.dim(-2) == 1)
    c.id = "masked_padding";
  c.text = fmt::format("{} hides {}{}: what is hidden has no influence on the loss", label_of(node),
                       shares(hidden),
                       c.id == "masked_causal"    ? ", those of the future"
                       : c.id == "masked_padding" ? ", whole keys such as padding"
                                                  : "");
  return c;
}

// Products of such gradients leave what float32 can hold (1e-45).
constexpr double kSmall = 1e-25;

GradientCause underflow_at(const Node& node, const Tensor& arrived) {
  return {"underflow", label_of(node),
          fmt::format("gradients up to {:.3g} arrive at {}, and what it makes of them is too small for {}",
                      largest(arrived), label_of(node), minigpt::name_of(arrived.dtype()))};
}

// A product: the gradient of one factor is the other one times what arrives.
GradientCause product_cause(const GradientTrace& trace, const Use& use) {
  const Node& node = *use.node;
  for (int i = 0; i < node.inputs.size(); ++i) {
    if (i == use.input) continue;
    const Tensor* other = saved_as(node, i);
    if (!other || largest(*other) > 0) continue;
    const bool leaf = static_cast<bool>(node.inputs[i].leaf);
    GradientCause c{leaf ? "zero_weight" : "zero_input", label_of(node), ""};
    c.text = fmt::format("{} multiplies by {}, and all its {} values are 0", label_of(node),
                         name_of_input(node, i), other->numel());
    if (leaf) c.text += " (a projection that begins at zero? it learns first)";
    if (!leaf && node.inputs[i].node) {
      const Node& maker = *node.inputs[i].node;
      if (std::string_view(maker.op) == "relu") {
        c.id = "relu_inactive";
        c.text += ": the rectifier lets nothing through, its inputs are all 0 or less";
      }
    }
    return c;
  }
  const Tensor arrived = trace.dy(&node);
  if (largest(arrived) < kSmall) return underflow_at(node, arrived);
  return {"unknown", label_of(node),
          fmt::format("{} is where it becomes 0: gradients up to {:.3g} arrive, but what is asked for meets "
                      "only zeros in "
                      "the other factor",
                      label_of(node), largest(arrived))};
}

}  // namespace

GradientCause cause_at(const GradientTrace& trace, const Use& use, const Region& region,
                       const ExplainOptions& options) {
  const Node& node = *use.node;
  const std::string_view op = node.op;
  const std::string where = label_of(node);
  if (op == "embedding" && saved_as(node, SavedTensor::kOther)) {
    const Tensor index = *saved_as(node, SavedTensor::kOther);
    std::string rows = "the rows asked for";
    if (options.index && !options.index->empty()) {
      const std::int64_t row = (*options.index)[0];
      rows = fmt::format("row {}", row);
      if (options.row_name)
        if (const std::string name = options.row_name(row); !name.empty()) rows += fmt::format(" ({})", name);
    }
    return {"row_not_in_batch", where,
            fmt::format("{} does not occur among the {} indices of this batch, so {} never looked it up",
                        rows, index.numel(), where)};
  }
  if (op == "masked_fill" || op == "where") return mask_cause(node);
  if (op == "dropout")
    return {"dropped_out", where, fmt::format("{} set what is asked for to 0 in this step", where)};
  if (op == "relu" || op == "relu_squared") {
    const Tensor y = trace.output(&node);
    std::string text = fmt::format("{} passes nothing on where its input is not positive", where);
    if (y.defined()) text += fmt::format(": {} are 0", shares(eq(y, 0.0)));
    if (!region.all()) text += ", among them all that are asked for";
    return {"relu_inactive", where, text};
  }
  if (is_one_of(op, {"gelu", "silu", "tanh", "sigmoid", "erf"})) {
    const Tensor* x = saved_as(node, 0);
    return {"activation_flat", where,
            fmt::format("{} is flat there: the slope is 0 (inputs{})", where,
                        x ? fmt::format(" from {:.3g} to {:.3g}", min(*x).item(), max(*x).item()) : "")};
  }
  if (op == "cross_entropy")
    return {"softmax_saturated", where,
            fmt::format("{} is sure and right everywhere: prediction minus truth is 0", where)};
  if (op == "softmax" || op == "log_softmax") {
    // Scores that a mask set to -inf have weights of 0, and softmax stops their gradients before the mask would.
    const Node* maker = node.inputs[0].node.get();
    if (maker && std::string_view(maker->op) == "masked_fill") {
      const Tensor hidden =
          expand(saved_as(*maker, SavedTensor::kOther)->to(DType::f32), node.shape).contiguous();
      if (zero_inside(sub(hidden, ones(node.shape)), region)) return mask_cause(*maker);
    }
    const Tensor p = trace.output(&node);
    return {"softmax_saturated", where,
            fmt::format("{} has put all its weight on one entry{}: p (1 - p) is 0, and no gradient passes",
                        where, p.defined() ? fmt::format(" (largest weight {:.6g})", largest(p)) : "")};
  }
  if (is_one_of(op, {"slice", "select", "gather", "index_select", "max", "min", "maximum", "minimum", "clamp",
                     "tril", "triu"}))
    return {"not_selected", where, fmt::format("{} does not take what is asked for", where)};
  if (is_one_of(op, {"linear", "matmul", "mul", "div"})) return product_cause(trace, use);
  if (largest(trace.dy(&node)) < kSmall) return underflow_at(node, trace.dy(&node));
  if (is_one_of(op, {"layer_norm", "rms_norm", "qk_norm"}))
    return {"cancellation", where,
            fmt::format(
                "{} does not change when its input is shifted or scaled, so that part of the gradient is 0",
                where)};
  return {"unknown", where,
          fmt::format("{} is where it becomes 0: gradients up to {:.3g} arrive, and none goes on", where,
                      largest(trace.dy(&node)))};
}

std::vector<GradientCause> notes_at(const GradientTrace& trace, const Node& node) {
  std::vector<GradientCause> notes;
  const std::string_view op = node.op;
  const std::string where = label_of(node);
  const Tensor y = trace.output(&node);
  if (!y.defined() || y.numel() == 0) return notes;
  if (op == "softmax") {
    // Rows with a single entry that may be attended to are 1 by nature: rows with more than one count.
    const Tensor p = reshape(y.contiguous(), {y.numel() / y.dim(-1), y.dim(-1)});
    const Tensor top = max(p, {1});
    const double stuck = share_of(gt(top, 0.999)),
                 open = share_of(gt(sum(ne(p, 0.0).to(DType::f32), {1}), 1.5));
    if (stuck - (1 - open) > 0.5)
      notes.push_back(
          {"softmax_saturated", where,
           fmt::format(
               "{}: in {:.1f} % of its rows one weight is above 0.999; p (1 - p) is {:.2g} on average", where,
               100 * stuck, mean(mul(p, sub(ones(p.shape(), p.dtype()), p))).item())});
  }
  if (op == "relu") {
    const double share = share_of(eq(y, 0.0));
    if (share > 0.9)
      notes.push_back({"relu_inactive", where,
                       fmt::format("{}: {:.1f} % of its inputs are not positive and pass no gradient on",
                                   where, 100 * share)});
  }
  if (op == "gelu") {
    const Tensor* x = saved_as(node, 0);
    if (x && share_of(le(*x, -4.0)) > 0.9)
      notes.push_back({"activation_flat", where,
                       fmt::format("{}: {:.1f} % of its inputs are below -4, where it is flat", where,
                                   100 * share_of(le(*x, -4.0)))});
  }
  return notes;
}

}  // namespace minigpt::detail
