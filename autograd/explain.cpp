#include "autograd/explain.h"

#include <algorithm>
#include <cmath>
#include <unordered_set>

#include "autograd/anomaly.h"
#include "autograd/composition.h"
#include "autograd/engine.h"
#include "autograd/explain_trace.h"
#include "tensor/compare.h"
#include "tensor/reduce.h"
#include "tensor/views.h"

namespace minigpt {
namespace {

using namespace detail;

constexpr double kTiny = 1e-2, kHuge = 1e2;

const void* source_of(const Variable& v) {
  const VariableImpl& impl = VariableImpl::of(v);
  return impl.node ? static_cast<const void*>(impl.node.get()) : impl.meta.get();
}

bool same_memory(const Tensor& a, const Tensor& b) {
  return a.defined() && b.defined() && a.storage() == b.storage();
}

// The target is not in the graph: where was it left behind?
GradientCause why_missing(const GradientTrace& trace, const Variable& target, const std::string& name) {
  if (!target.requires_grad())
    return {"no_grad", name, fmt::format("{} does not want a gradient (requires_grad is off)", name)};
  // Values that the target has reached, by memory; views share it.
  std::vector<Tensor> reached = {target.value()};
  const auto is_reached = [&](const Tensor& t) {
    return std::any_of(reached.begin(), reached.end(), [&](const Tensor& r) { return same_memory(r, t); });
  };
  bool used = false;
  for (const Executed& e : trace.executed()) {
    bool takes = false, cut = false;
    for (std::size_t i = 0; i < e.inputs.size(); ++i) {
      if (!is_reached(e.inputs[i])) continue;
      takes = true;
      cut = cut || !e.wants_gradient[i];
    }
    if (!takes) continue;
    used = true;
    const std::string where = *e.module ? fmt::format("{} {}", e.module, e.op) : e.op;
    if (cut)
      return {"detached", where,
              fmt::format("{} reads what was made of {} without its history: it was detached before", where,
                          name)};
    if (!e.recorded)
      return {"no_grad", where, fmt::format("{} uses {} while recording is off (NoGrad)", where, name)};
    reached.push_back(e.output);
  }
  return {"not_on_path", name,
          used ? fmt::format("what is made of {} does not reach the loss", name)
               : fmt::format("nothing that the loss is made of uses {}", name)};
}

// Walks from a value whose gradient is zero in a region towards the loss, to where gradients still arrive.
class ZeroSearch {
 public:
  ZeroSearch(const GradientTrace& trace, const ExplainOptions& options, std::vector<GradientCause>& causes)
      : trace_(trace), options_(options), causes_(causes) {}

  void explain(const void* source, const Region& region) {
    const std::vector<Use>& uses = trace_.uses(source);
    bool parts = false;
    for (const Use& use : uses) parts = parts || !zero_inside(trace_.sent(use), region);
    if (parts) {
      add({"cancellation", label_of(*uses.front().node),
           fmt::format("{} parts arrive that are not all zero, but add up to exactly 0", uses.size())});
      return;
    }
    for (const Use& use : uses) explain_use(use, region);
  }

 private:
  void explain_use(const Use& use, const Region& region) {
    if (!seen_.emplace(use.node).second) return;
    const Region further = forward_region(use, region);
    // Nothing arrives here either: the reason lies further on.
    if (zero_inside(trace_.dy(use.node), further)) return explain(use.node, further);
    add(cause_at(trace_, use, region, options_));
  }

  void add(GradientCause cause) {
    for (const GradientCause& c : causes_)
      if (c.id == cause.id && c.where == cause.where) return;
    causes_.push_back(std::move(cause));
  }

  const GradientTrace& trace_;
  const ExplainOptions& options_;
  std::vector<GradientCause>& causes_;
  std::unordered_set<const Node*> seen_;
};

// From the target towards the loss, along the largest parts.
std::vector<const Node*> main_path(const GradientTrace& trace, const void* source) {
  std::vector<const Node*> path;
  for (;;) {
    const Use* best = nullptr;
    double largest = -1;
    for (const Use& use : trace.uses(source)) {
      const Tensor part = trace.sent(use);
      const double norm = part.defined() ? std::sqrt(sum_of_squares(part)) : 0;
      if (norm > largest) largest = norm, best = &use;
    }
    if (!best) return path;
    path.push_back(best->node);
    source = best->node;
  }
}

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// The step of the path at which the gradient shrinks or grows most.
GradientCause steepest(const GradientTrace& trace, const std::vector<const Node*>& path, double rms,
                       bool vanishing) {
  double before = rms, extreme = 1;
  const Node* where = nullptr;
  for (const Node* node : path) {
    const double after = rms_of(trace.dy(node));
    const double ratio = before > 0 ? after / before : 1;  // what the node divides by on the way back
    if (vanishing ? ratio > extreme : ratio < extreme) extreme = ratio, where = node;
    before = after;
  }
  if (!where) return {"unknown", "", "no single operation stands out: it changes a little at every step"};
  const std::string label = label_of(*where);
  return {vanishing ? "vanishing" : "exploding", label,
          vanishing
              ? fmt::format("{} makes it {:.3g} times smaller on the way back, more than any other operation",
                            label, extreme)
              : fmt::format("{} makes it {:.3g} times larger on the way back, more than any other operation",
                            label, 1 / extreme)};
}

std::string name_or_tensor(const Variable& target) { return *target.name() ? target.name() : "the tensor"; }

}  // namespace

const char* name_of(GradientState state) {
  switch (state) {
    case GradientState::ordinary:
      return "ordinary";
    case GradientState::missing:
      return "missing";
    case GradientState::zero:
      return "zero";
    case GradientState::not_finite:
      return "not_finite";
    case GradientState::tiny:
      return "tiny";
    case GradientState::huge:
      return "huge";
  }
  return "";
}

void check_index(const Variable& target, const Dims& index) {
  constexpr const char* kOp = "explain_gradient";
  const std::string name = name_or_tensor(target);
  check(index.size() == target.shape().size(), kOp, "index {} does not fit the shape {} of {}", index,
        target.shape(), name);
  for (int i = 0; i < target.rank(); ++i)
    check(index[i] >= 0 && index[i] < target.shape()[i], kOp, "index {} is outside the shape {} of {}", index,
          target.shape(), name);
}

GradientExplanation explain_gradient(const std::function<Variable()>& make_loss, const Variable& target,
                                     const ExplainOptions& options) {
  constexpr const char* kOp = "explain_gradient";
  check(target.defined() && target.is_leaf(), kOp, "the tensor asked about must be a leaf");
  const std::string name = name_or_tensor(target);
  if (options.index) check_index(target, *options.index);
  GradientExplanation result;
  result.shape = target.shape();
  const ScopedComposition composed;
  try {  // the first value that is not finite, if there is one
    AnomalyMode anomalies;
    const Variable loss = make_loss();
    check(loss.numel() == 1 && loss.requires_grad(), kOp,
          "the loss must be a single number that wants a gradient");
    GradOptions any;
    any.allow_unused = true;
    if (target.requires_grad()) grad({loss}, {target}, any);
  } catch (const Anomaly& anomaly) {
    result.state = GradientState::not_finite;
    const AnomalyReport& r = anomaly.report;
    result.causes.push_back({"not_finite", r.module.empty() ? r.op : r.module + " " + r.op, r.text()});
    return result;
  }

  GradientTrace trace;
  const Variable loss = make_loss();
  trace.walk(loss);
  const void* source = source_of(target);
  if (!target.requires_grad() || trace.uses(source).empty()) {
    result.state = GradientState::missing;
    result.causes.push_back(why_missing(trace, target, name));
    return result;
  }
  GradOptions keep;
  keep.retain_graph = true;
  std::vector<Variable> leaves = {target};
  const Tensor gradient = grad({loss}, leaves, keep).front().value();
  std::vector<double> sizes;
  for (const auto& [leaf, shape] : trace.leaves()) {
    double squares = 0;
    for (const Use& use : trace.uses(leaf))
      if (const Tensor part = trace.sent(use); part.defined()) squares += sum_of_squares(part);
    sizes.push_back(std::sqrt(squares / static_cast<double>(std::max<std::int64_t>(1, numel(shape)))));
  }
  result.reference = median(sizes);
  result.norm = std::sqrt(sum_of_squares(gradient));
  result.rms = rms_of(gradient);
  result.zeros = mean(eq(gradient, 0.0).to(DType::f64)).item();
  Region region;
  if (options.index) {
    result.value = gradient.at(*options.index);
    std::int64_t place = 0;
    for (int i = 0; i < target.rank(); ++i) place = place * target.shape()[i] + (*options.index)[i];
    region.marks = zeros(target.shape());
    region.marks.mutable_data<float>()[place] = 1;
  }

  const std::vector<const Node*> path = main_path(trace, source);
  for (const Node* node : path) result.path.push_back({label_of(*node), rms_of(trace.dy(node))});
  if (zero_inside(gradient, region)) {
    result.state = GradientState::zero;
    ZeroSearch(trace, options, result.causes).explain(source, region);
    return result;
  }
  const double size = options.index ? std::fabs(*result.value) : result.rms;
  if (size < kTiny * result.reference) {
    result.state = GradientState::tiny;
    result.causes.push_back(steepest(trace, path, result.rms, true));
  } else if (size > kHuge * result.reference && result.reference > 0) {
    result.state = GradientState::huge;
    result.causes.push_back(steepest(trace, path, result.rms, false));
  }
  std::unordered_set<std::string> noted;
  for (const Node* node : trace.nodes())
    for (GradientCause& note : notes_at(trace, *node))
      if (noted.insert(note.where).second) result.causes.push_back(std::move(note));
  if (options.clip < 1)
    result.causes.push_back(
        {"clipped", name,
         fmt::format("the update multiplies every gradient by {:.4g} (clipping), so this one has the "
                     "norm {:.4g} in it",
                     options.clip, result.norm * options.clip)});
  return result;
}

}  // namespace minigpt
