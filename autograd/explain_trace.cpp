#include "autograd/explain_trace.h"

#include <algorithm>
#include <cmath>
#include <unordered_set>

#include "autograd/scope.h"
#include "tensor/arithmetic.h"
#include "tensor/compare.h"
#include "tensor/reduce.h"
#include "tensor/unary.h"
#include "tensor/views.h"

namespace minigpt::detail {

void GradientTrace::on_forward(const char* op, const Variable& y, const Variable* inputs, std::size_t count) {
  Executed e{op, y.node() ? y.node()->module : current_scope(), y.value(), {}, {}, y.node() != nullptr};
  for (std::size_t i = 0; i < count; ++i) {
    const bool defined = inputs[i].defined();
    e.inputs.push_back(defined ? inputs[i].value() : Tensor());
    e.wants_gradient.push_back(defined && inputs[i].requires_grad());
  }
  if (y.node()) outputs_[y.node()] = y.value();
  executed_.push_back(std::move(e));
}

void GradientTrace::on_gradient(const Node& node, int input, const Variable& gradient) {
  std::vector<Tensor>& list = sent_[&node];
  list.resize(std::max<std::size_t>(list.size(), static_cast<std::size_t>(input) + 1));
  list[static_cast<std::size_t>(input)] = gradient.value();
}

const std::vector<Use>& GradientTrace::uses(const void* source) const {
  static const std::vector<Use> kNone;
  const auto it = uses_.find(source);
  return it == uses_.end() ? kNone : it->second;
}

Tensor GradientTrace::dy(const Node* node) const {
  const auto it = dy_.find(node);
  return it == dy_.end() ? Tensor() : it->second;
}

Tensor GradientTrace::output(const Node* node) const {
  const auto it = outputs_.find(node);
  return it == outputs_.end() ? Tensor() : it->second;
}

Tensor GradientTrace::sent(const Use& use) const {
  const auto it = sent_.find(use.node);
  if (it == sent_.end() || it->second.size() <= static_cast<std::size_t>(use.input)) return {};
  return it->second[static_cast<std::size_t>(use.input)];
}

void GradientTrace::walk(const Variable& loss) {
  std::unordered_set<const Node*> seen;
  std::unordered_set<const GradMeta*> seen_leaves;
  std::vector<const Node*> waiting;
  if (loss.node()) {
    waiting.push_back(loss.node());
    seen.insert(loss.node());
  }
  while (!waiting.empty()) {
    const Node* node = waiting.back();
    waiting.pop_back();
    nodes_.push_back(node);
    for (int i = 0; i < node->inputs.size(); ++i) {
      const Edge& edge = node->inputs[i];
      if (edge.node) {
        uses_[edge.node.get()].push_back({node, i});
        if (seen.insert(edge.node.get()).second) waiting.push_back(edge.node.get());
      } else if (edge.leaf) {
        uses_[edge.leaf.get()].push_back({node, i});
        if (seen_leaves.insert(edge.leaf.get()).second) leaves_.emplace_back(edge.leaf.get(), edge.shape);
      }
    }
  }
  std::sort(nodes_.begin(), nodes_.end(),
            [](const Node* a, const Node* b) { return a->sequence > b->sequence; });
}

std::string label_of(const Node& node) {
  return *node.module ? fmt::format("{} {}", node.module, node.op) : node.op;
}

double rms_of(const Tensor& x) {
  return x.defined() && x.numel() > 0 ? std::sqrt(sum_of_squares(x) / static_cast<double>(x.numel())) : 0;
}

bool zero_inside(const Tensor& x, const Region& region) {
  if (!x.defined() || x.numel() == 0) return true;
  if (region.all()) return max(minigpt::abs(x)).item() == 0;
  return max(mul(minigpt::abs(x).to(DType::f32), expand(region.marks, x.shape()).contiguous())).item() == 0;
}

Region forward_region(const Use& use, const Region& region) {
  if (region.all()) return {};
  const Node& node = *use.node;
  const Shape in = node.inputs[use.input].shape, out = node.shape;
  const std::string_view op = node.op;
  const auto marks_where = [](const Tensor& x) { return ne(x, 0.0).to(DType::f32); };
  if (op == "linear") {
    // W (N, K): rows are outputs. b (N). Every output depends on a column of W, or an element of x.
    if (use.input == 1) {
      const Tensor rows = marks_where(sum(region.marks, {1}));
      if (min(rows).item() == 1) return {};
      return {expand(rows, out).contiguous()};
    }
    if (use.input == 2) return {expand(region.marks, out).contiguous()};
    return {};
  }
  if (op == "embedding") return {};  // the only use of a row: cause_at answers
  if (in == out && op != "softmax" && op != "log_softmax" && op != "layer_norm" && op != "rms_norm" &&
      op != "qk_norm" && op != "rotary")
    return region;  // element by element
  if (op == "reshape" || op == "squeeze" || op == "unsqueeze")
    return {reshape(region.marks.contiguous(), out)};
  // A bias or gain that is broadcast. (An op that mixes elements has no smaller region than everything.)
  if ((op == "add" || op == "sub" || op == "mul" || op == "div") && in.size() <= out.size())
    return {expand(region.marks, out).contiguous()};
  return {};
}

}  // namespace minigpt::detail
