#include "autograd/anomaly.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "autograd/node.h"
#include "autograd/scope.h"
#include "tensor/compare.h"
#include "tensor/reduce.h"

namespace minigpt {
namespace {

constexpr std::size_t kShown = 8;  // values of a row

Dims index_of(std::int64_t flat, const Shape& shape) {
  Dims index(shape);
  for (int axis = shape.size() - 1; axis >= 0; --axis) {
    index[axis] = flat % shape[axis];
    flat /= shape[axis];
  }
  return index;
}

// Can be broadcast to `shape`.
bool broadcasts(const Shape& small, const Shape& shape) {
  if (small.size() > shape.size()) return false;
  for (int i = 1; i <= small.size(); ++i)
    if (small[small.size() - i] != 1 && small[small.size() - i] != shape[shape.size() - i]) return false;
  return true;
}

// Are all axes but the last the same?
bool same_rows(const Shape& a, const Shape& b) {
  return a.size() >= 1 && a.size() == b.size() && std::equal(a.begin(), a.end() - 1, b.begin());
}

// What element `index` of a result of `shape` was made from, by shapes alone.
void pick_values(AnomalySource& source, const Tensor& x, const Shape& shape, const Dims& index) {
  Dims start;
  if (broadcasts(x.shape(), shape)) {
    for (int i = 0; i < x.rank(); ++i)
      start.push_back(x.dim(i) == 1 ? 0 : index[shape.size() - x.rank() + i]);
    source.place = start;
    source.values = {x.at(start)};
    return;
  }
  if (same_rows(x.shape(), shape))
    start = Dims(index.begin(), index.end() - 1);  // the row of x that meets a matrix
  else if (x.rank() == 2 && !shape.empty() && x.dim(0) == shape.back())
    start = {index.back()};  // the row of a weight (out, in)
  else
    return;
  start.push_back(0);
  source.place = start;
  const std::int64_t n = std::min<std::int64_t>(x.dim(-1), kShown);
  for (std::int64_t i = 0; i < n; ++i) {
    start[start.size() - 1] = i;
    source.values.push_back(x.at(start));
  }
}

AnomalySource describe(std::string role, std::string name, const Tensor& x, const Shape& shape,
                       const Dims& index) {
  AnomalySource source;
  source.role = std::move(role);
  source.name = std::move(name);
  source.shape = x.shape();
  const std::vector<double> values = x.to(DType::f64).to_vector<double>();
  bool any = false;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double v = values[i];
    if (!std::isfinite(v)) {
      if (source.not_finite++) continue;
      source.first = index_of(static_cast<std::int64_t>(i), x.shape());
      source.first_value = v;
      continue;
    }
    source.min = any ? std::min(source.min, v) : v;
    source.max = any ? std::max(source.max, v) : v;
    any = true;
  }
  pick_values(source, x, shape, index);
  return source;
}

std::string place_name(const char* module, const char* op) {
  return *module ? fmt::format("{} {}", module, op) : op;
}

std::string name_of_input(const Edge& edge) {
  if (edge.leaf) return edge.leaf->name;
  return edge.node ? place_name(edge.node->module, edge.node->op) : "";
}

std::string name_of_variable(const Variable& v) {
  if (const Node* node = v.node()) return place_name(node->module, node->op);
  return v.name();
}

bool has_infinity_on_purpose(const Variable& v) {
  if (!v.defined() || !is_floating(v.dtype()) || (v.is_leaf() && v.requires_grad())) return false;
  return !all_finite(v.value());
}

bool has_nan(const Tensor& x) { return max(isnan(x).to(DType::i32)).item() != 0; }

// The place and value of the first element that is not finite.
void find_first(AnomalyReport& report, const Tensor& x) {
  report.shape = x.shape();
  const AnomalySource all = describe("", "", x, {}, {});
  report.index = all.first.value_or(Dims());
  report.value = all.first_value;
}

std::string line_of(const AnomalySource& s) {
  std::string text = "\n  " + s.role;
  if (!s.name.empty()) text += ", " + s.name;
  text += fmt::format(" {}: ", s.shape);
  if (s.first) {
    text += fmt::format("{} value{} not finite, {} at {}; others in ", s.not_finite,
                        s.not_finite == 1 ? "" : "s", s.first_value, *s.first);
  }
  text += fmt::format("[{:.4g}, {:.4g}]", s.min, s.max);
  if (s.values.empty()) return text;
  text += fmt::format("; at {}", s.place);
  for (std::size_t i = 0; i < s.values.size(); ++i)
    text += fmt::format("{} {:.9g}", i ? "," : "", s.values[i]);
  const std::int64_t row = s.shape.empty() ? 1 : s.shape.back();
  if (s.values.size() > 1 && row > static_cast<std::int64_t>(s.values.size())) text += ", ...";
  return text;
}

void add_saved(AnomalyReport& report, const Node& node) {
  int others = 0;
  for (const SavedTensor& s : node.saved) {
    std::string role = "output", name;
    if (s.input >= 0) {
      role = fmt::format("input {}", s.input);
      name = name_of_input(node.inputs[s.input]);
    } else if (s.input == SavedTensor::kOther) {
      role = fmt::format("saved {}", others++);
    }
    if (s.tensor.defined())
      report.sources.push_back(
          describe(std::move(role), std::move(name), s.tensor, report.shape, report.index));
  }
}

}  // namespace

std::string AnomalyReport::text() const {
  std::string text = fmt::format("[anomaly] step {}: {}{}{}: {}", step, backward ? "backward of " : "",
                                 module, module.empty() ? op : " " + op, tensor);
  if (!name.empty()) text += ", " + name;
  text += fmt::format(" {} holds {} at {}", shape, value, index);
  for (const AnomalySource& s : sources) text += line_of(s);
  return text;
}

void AnomalyMode::on_forward(const char* op, const Variable& y, const Variable* inputs, std::size_t count) {
  if (!is_floating(y.dtype()) || all_finite(y.value())) return;
  if (!has_nan(y.value())) {
    if (std::string_view(op) == "masked_fill") return;
    if (std::any_of(inputs, inputs + count, has_infinity_on_purpose)) return;
  }
  AnomalyReport report;
  report.step = step_;
  report.op = op;
  report.module = current_scope();
  report.tensor = "output";
  find_first(report, y.value());
  for (std::size_t i = 0; i < count; ++i)
    if (inputs[i].defined())
      report.sources.push_back(describe(fmt::format("input {}", i), name_of_variable(inputs[i]),
                                        inputs[i].value(), report.shape, report.index));
  throw Anomaly(std::move(report));
}

void AnomalyMode::on_backward(const Node& node, const Variable& dy) {
  dy_ = dy.value();
  if (all_finite(dy_)) return;
  // Every part of it was finite when it was sent: the sum is not, or a hook or the caller brought it.
  AnomalyReport report;
  report.step = step_;
  report.backward = true;
  report.op = node.op;
  report.module = node.module;
  report.tensor = "gradient of the output (a sum, or what a hook or the caller gave)";
  find_first(report, dy_);
  throw Anomaly(std::move(report));
}

void AnomalyMode::on_gradient(const Node& node, int input, const Variable& gradient) {
  if (all_finite(gradient.value())) return;
  AnomalyReport report;
  report.step = step_;
  report.backward = true;
  report.op = node.op;
  report.module = node.module;
  report.tensor = fmt::format("gradient of input {}", input);
  report.name = name_of_input(node.inputs[input]);
  find_first(report, gradient.value());
  report.sources.push_back(describe("gradient of the output", "", dy_, report.shape, report.index));
  add_saved(report, node);
  throw Anomaly(std::move(report));
}

}  // namespace minigpt
