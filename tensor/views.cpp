#include "tensor/views.h"

#include <algorithm>

namespace minigpt {
namespace {

Tensor restride(const Tensor& x, std::int64_t offset, const Shape& shape, const Strides& strides) {
  return Tensor::view_of(x.storage(), offset, shape, strides, x.dtype());
}

// Strides that show x under `shape` without a copy, if there are any. x's axes are first grouped into runs
// that are contiguous among themselves; each run must be cut into whole new axes.
bool strides_for(const Tensor& x, const Shape& shape, Strides& strides) {
  strides = contiguous_strides(shape);
  if (x.numel() == 0 || x.is_contiguous()) return true;
  int axis = shape.size() - 1;
  std::int64_t run = 1;       // elements in the current run of old axes
  std::int64_t filled = 1;    // elements of it already covered by new axes
  std::int64_t run_step = 1;  // stride of the run's innermost axis
  bool started = false;
  for (int i = x.rank() - 1; i >= 0; --i) {
    const std::int64_t n = x.shape()[i];
    if (n == 1) continue;
    if (!started) {
      run_step = x.strides()[i];
      started = true;
    }
    run *= n;
    // Does the next outer axis continue this run?
    int outer = i - 1;
    while (outer >= 0 && x.shape()[outer] == 1) --outer;
    if (outer >= 0 && x.strides()[outer] == x.strides()[i] * n) continue;
    while (axis >= 0 && (filled < run || shape[axis] == 1)) {
      strides[axis] = run_step * filled;
      filled *= shape[axis];
      --axis;
    }
    if (filled != run) return false;
    run = filled = 1;
    started = false;
  }
  return true;
}

}  // namespace

namespace detail {

Shape resolve_shape(std::string_view op, const Shape& from, Shape to) {
  int unknown = -1;
  std::int64_t known = 1;
  for (int i = 0; i < to.size(); ++i) {
    if (to[i] != -1) continue;
    check(unknown < 0, op, "only one extent may be -1: {}", to);
    unknown = i;
  }
  Shape rest = to;
  if (unknown >= 0) rest[unknown] = 1;
  known = numel(rest);
  const std::int64_t n = numel(from);
  if (unknown >= 0) {
    check(known > 0 && n % known == 0, op, "cannot view {} as {}: {} elements", from, to, n);
    to[unknown] = n / known;
  } else {
    check(known == n, op, "cannot view {} as {}: {} elements into {}", from, to, n, known);
  }
  return to;
}

std::vector<std::int64_t> split_sizes(std::int64_t extent, std::int64_t size) {
  check(size >= 1, "split", "size must be at least 1, got {}", size);
  std::vector<std::int64_t> sizes;
  for (std::int64_t start = 0; start < extent; start += size) sizes.push_back(std::min(size, extent - start));
  if (sizes.empty()) sizes.push_back(0);
  return sizes;
}

}  // namespace detail

Tensor reshape(const Tensor& x, Shape shape) {
  shape = detail::resolve_shape("reshape", x.shape(), shape);
  Strides strides;
  if (strides_for(x, shape, strides)) return restride(x, x.offset(), shape, strides);
  const Tensor copy = x.clone();
  return restride(copy, 0, shape, contiguous_strides(shape));
}

Tensor view(const Tensor& x, Shape shape) {
  shape = detail::resolve_shape("view", x.shape(), shape);
  Strides strides;
  check(strides_for(x, shape, strides), "view",
        "{} with strides {} cannot be seen as {} without a copy; use reshape", x.shape(), x.strides(), shape);
  return restride(x, x.offset(), shape, strides);
}

Tensor flatten(const Tensor& x, int first, int last) {
  if (x.rank() == 0) return reshape(x, {1});
  first = normalize_axis("flatten", first, x.rank());
  last = normalize_axis("flatten", last, x.rank());
  check(first <= last, "flatten", "first axis {} lies behind the last axis {}", first, last);
  Shape shape;
  std::int64_t merged = 1;
  for (int i = 0; i < x.rank(); ++i) {
    if (i >= first && i <= last) merged *= x.shape()[i];
    if (i < first || i > last) shape.push_back(x.shape()[i]);
    if (i == last) shape.push_back(merged);
  }
  return reshape(x, shape);
}

Tensor transpose(const Tensor& x, int a, int b) {
  a = normalize_axis("transpose", a, x.rank());
  b = normalize_axis("transpose", b, x.rank());
  Shape shape = x.shape();
  Strides strides = x.strides();
  std::swap(shape[a], shape[b]);
  std::swap(strides[a], strides[b]);
  return restride(x, x.offset(), shape, strides);
}

Tensor permute(const Tensor& x, const Dims& order) {
  check(order.size() == x.rank(), "permute", "order {} does not name every axis of {}", order, x.shape());
  Shape shape;
  Strides strides;
  Dims seen;
  for (std::int64_t axis : order) {
    const int a = normalize_axis("permute", axis, x.rank());
    check(!seen.contains(a), "permute", "order {} names axis {} twice", order, axis);
    seen.push_back(a);
    shape.push_back(x.shape()[a]);
    strides.push_back(x.strides()[a]);
  }
  return restride(x, x.offset(), shape, strides);
}

Tensor slice(const Tensor& x, int axis, std::int64_t start, std::int64_t end, std::int64_t step) {
  axis = normalize_axis("slice", axis, x.rank());
  check(step >= 1, "slice", "step must be at least 1, got {}", step);
  const std::int64_t n = x.shape()[axis];
  const auto clamp = [n](std::int64_t i) { return std::clamp<std::int64_t>(i < 0 ? i + n : i, 0, n); };
  start = clamp(start);
  end = std::max(start, clamp(end));
  step = std::min(step, std::max<std::int64_t>(n, 1));  // any longer step also takes just the first element
  Shape shape = x.shape();
  Strides strides = x.strides();
  shape[axis] = (end - start + step - 1) / step;
  strides[axis] *= step;
  return restride(x, x.offset() + start * x.strides()[axis], shape, strides);
}

Tensor select(const Tensor& x, int axis, std::int64_t index) {
  axis = normalize_axis("select", axis, x.rank());
  const std::int64_t n = x.shape()[axis];
  check(index >= -n && index < n, "select", "index {} is outside axis {} of {}", index, axis, x.shape());
  if (index < 0) index += n;
  Shape shape = x.shape();
  Strides strides = x.strides();
  shape.erase(axis);
  strides.erase(axis);
  return restride(x, x.offset() + index * x.strides()[axis], shape, strides);
}

std::vector<Tensor> split(const Tensor& x, std::int64_t size, int axis) {
  axis = normalize_axis("split", axis, x.rank());
  return split(x, detail::split_sizes(x.shape()[axis], size), axis);
}

std::vector<Tensor> split(const Tensor& x, const std::vector<std::int64_t>& sizes, int axis) {
  axis = normalize_axis("split", axis, x.rank());
  std::vector<Tensor> pieces;
  std::int64_t start = 0;
  for (std::int64_t size : sizes) {
    check(size >= 0, "split", "sizes must not be negative, got {}", size);
    pieces.push_back(slice(x, axis, start, start + size));
    start += size;
  }
  check(start == x.shape()[axis], "split", "sizes add up to {}, axis {} of {} has {}", start, axis, x.shape(),
        x.shape()[axis]);
  return pieces;
}

Tensor expand(const Tensor& x, const Shape& shape) {
  const int added = shape.size() - x.rank();
  check(added >= 0, "expand", "{} has fewer axes than {}", shape, x.shape());
  Shape out = shape;
  Strides strides = shape;
  for (int i = 0; i < shape.size(); ++i) {
    const std::int64_t n = i < added ? 1 : x.shape()[i - added];
    if (shape[i] == -1) {
      check(i >= added, "expand", "-1 stands for no axis of {} in {}", x.shape(), shape);
      out[i] = n;
    }
    check(n == out[i] || n == 1, "expand", "{} does not expand to {}: {} != {}", x.shape(), shape, n, out[i]);
    strides[i] = n == out[i] && i >= added ? x.strides()[i - added] : 0;
  }
  return restride(x, x.offset(), out, strides);
}

Tensor squeeze(const Tensor& x, int axis) {
  axis = normalize_axis("squeeze", axis, x.rank());
  return x.shape()[axis] == 1 ? select(x, axis, 0) : x;
}

Tensor squeeze(const Tensor& x) {
  Tensor out = x;
  for (int i = x.rank() - 1; i >= 0; --i) out = squeeze(out, i);
  return out;
}

Tensor unsqueeze(const Tensor& x, int axis) {
  axis = normalize_axis("unsqueeze", axis, x.rank() + 1);
  Shape shape = x.shape();
  Strides strides = x.strides();
  shape.insert(axis, 1);
  strides.insert(axis, 1);
  return restride(x, x.offset(), shape, strides);
}

}  // namespace minigpt
