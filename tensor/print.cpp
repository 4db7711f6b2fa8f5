#include "tensor/print.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "tensor/views.h"

namespace minigpt {
namespace {

// PyTorch's defaults.
constexpr std::int64_t kMaxElements = 1000;
constexpr std::int64_t kEdge = 3;
constexpr std::size_t kLineWidth = 80;

constexpr std::int64_t kEllipsis = -1;

// The indices to show along an axis, with kEllipsis for those left out.
std::vector<std::int64_t> shown(std::int64_t extent, bool summarize) {
  std::vector<std::int64_t> indices;
  const bool cut = summarize && extent > 2 * kEdge;
  for (std::int64_t i = 0; i < (cut ? kEdge : extent); ++i) indices.push_back(i);
  if (!cut) return indices;
  indices.push_back(kEllipsis);
  for (std::int64_t i = extent - kEdge; i < extent; ++i) indices.push_back(i);
  return indices;
}

// All values that will be shown.
void collect(const Tensor& x, bool summarize, std::vector<double>& values) {
  if (x.rank() == 0) return values.push_back(x.item());
  for (std::int64_t i : shown(x.shape()[0], summarize))
    if (i != kEllipsis) collect(select(x, 0, i), summarize, values);
}

// How every number of one tensor is written.
class Format {
 public:
  Format(DType dtype, const std::vector<double>& values) : dtype_(dtype) {
    if (!is_floating(dtype)) {
      for (double v : values) width_ = std::max(width_, digits(v).size());
      return;
    }
    double low = std::numeric_limits<double>::infinity();
    double high = 0;
    for (double v : values) {
      if (!counts(v)) continue;
      low = std::min(low, std::abs(v));
      high = std::max(high, std::abs(v));
      whole_ = whole_ && v == std::ceil(v);
    }
    if (high == 0) return;  // nothing but zeros, infinities and NaN
    scientific_ = high / low > 1000 || high > 1e8 || (!whole_ && low < 1e-4);
    for (double v : values)
      if (counts(v)) width_ = std::max(width_, digits(v).size());
  }

  std::size_t width() const { return width_; }

  std::string operator()(double value) const {
    const std::string text = digits(value);
    return std::string(text.size() < width_ ? width_ - text.size() : 0, ' ') + text;
  }

 private:
  // Zero, infinity and NaN have no say in the choice of a format, and may stick out of their column.
  static bool counts(double v) { return std::isfinite(v) && v != 0; }

  std::string digits(double v) const {
    if (dtype_ == DType::boolean) return v != 0 ? "True" : "False";
    if (dtype_ == DType::i32) return fmt::format("{:.0f}", v);
    if (std::isnan(v)) return "nan";  // whatever its sign bit
    if (scientific_) return fmt::format("{:.4e}", v);
    if (!whole_) return fmt::format("{:.4f}", v);
    return fmt::format("{:.0f}{}", v, std::isfinite(v) ? "." : "");
  }

  DType dtype_;
  bool whole_ = true;
  bool scientific_ = false;
  std::size_t width_ = 1;
};

// A comma and line breaks, up to the column where the next line starts.
std::string new_line(int breaks, std::size_t column) {
  std::string text = ",";
  text.append(static_cast<std::size_t>(breaks), '\n');
  text.append(column, ' ');
  return text;
}

// A row, broken into lines. `indent` is the column of its opening bracket.
std::string row_text(const Tensor& x, std::size_t indent, bool summarize, const Format& format) {
  const std::size_t room = kLineWidth > indent ? kLineWidth - indent : 0;
  const std::size_t per_line = std::max<std::size_t>(1, room / (format.width() + 2));
  std::string text = "[";
  std::size_t count = 0;
  for (std::int64_t i : shown(x.shape()[0], summarize)) {
    if (count > 0) text += count % per_line == 0 ? new_line(1, indent + 1) : ", ";
    text += i == kEllipsis ? " ..." : format(x.at({i}));
    ++count;
  }
  return text + "]";
}

// Blocks of an axis are set apart by one line break per axis inside them.
std::string block_text(const Tensor& x, std::size_t indent, bool summarize, const Format& format) {
  if (x.rank() == 0) return format(x.item());
  if (x.rank() == 1) return row_text(x, indent, summarize, format);
  const std::string separator = new_line(x.rank() - 1, indent + 1);
  std::string text = "[";
  for (std::int64_t i : shown(x.shape()[0], summarize)) {
    if (text.size() > 1) text += separator;
    text += i == kEllipsis ? "..." : block_text(select(x, 0, i), indent + 1, summarize, format);
  }
  return text + "]";
}

// ", name=value", on a new line where the last one has no room for it.
void append_note(std::string& text, std::size_t indent, const std::string& note) {
  const std::size_t line_start = text.rfind('\n');
  const std::size_t last_line =
      line_start == std::string::npos ? text.size() + 2 : text.size() - line_start + 1;
  text += last_line + note.size() + 2 > kLineWidth ? new_line(1, indent) : ", ";
  text += note;
}

}  // namespace

std::string to_string(const Tensor& x) {
  if (!x.defined()) return "tensor(undefined)";
  const std::string name = "tensor(";
  const bool summarize = x.numel() > kMaxElements;
  bool names_type = x.dtype() != DType::f32 && x.dtype() != DType::boolean;
  std::string text = name;
  if (x.numel() == 0) {
    text += "[]";
    if (x.rank() != 1) append_note(text, name.size(), fmt::format("size={}", x.shape()));
    names_type = x.dtype() != DType::f32;  // there are no elements to tell a bool by
  } else {
    std::vector<double> values;
    collect(x, summarize, values);
    text += block_text(x, name.size(), summarize, Format(x.dtype(), values));
  }
  if (names_type) append_note(text, name.size(), fmt::format("dtype=torch.{}", name_of(x.dtype())));
  return text + ")";
}

}  // namespace minigpt
