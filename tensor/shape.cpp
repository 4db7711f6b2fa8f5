#include "tensor/shape.h"

#include <algorithm>

namespace minigpt {

void Dims::push_back(std::int64_t value) {
  check(size_ < kMaxRank, "shape", "at most {} dimensions are supported", kMaxRank);
  values_[size_++] = value;
}

void Dims::insert(int at, std::int64_t value) {
  push_back(value);
  std::rotate(begin() + at, end() - 1, end());
}

void Dims::erase(int at) {
  std::copy(begin() + at + 1, end(), begin() + at);
  --size_;
}

bool Dims::contains(std::int64_t value) const { return std::find(begin(), end(), value) != end(); }

std::string Dims::str() const {
  std::string text = "(";
  for (int i = 0; i < size_; ++i) {
    if (i > 0) text += ", ";
    text += std::to_string(values_[i]);
  }
  return text + ")";
}

std::int64_t numel(const Shape& shape) {
  std::int64_t product = 1;
  bool overflow = false;
  bool has_zero = false;
  for (std::int64_t extent : shape) {
    check(extent >= 0, "shape", "extents must not be negative: {}", shape);
    has_zero |= extent == 0;
    overflow |= !has_zero && __builtin_mul_overflow(product, extent, &product);
  }
  if (has_zero) return 0;
  // 2^58 elements of 8 bytes still fit a signed byte count; more cannot exist in memory.
  check(!overflow && product <= (std::int64_t{1} << 58), "shape", "too many elements: {}", shape);
  return product;
}

Strides contiguous_strides(const Shape& shape) {
  Strides strides = shape;
  std::int64_t step = 1;
  for (int i = shape.size() - 1; i >= 0; --i) {
    strides[i] = step;
    // Only an empty tensor, such as (2^62, 4, 0), can overflow here; its strides are never used.
    if (__builtin_mul_overflow(step, std::max<std::int64_t>(shape[i], 1), &step)) step = 1;
  }
  return strides;
}

Shape broadcast_shapes(std::string_view op, const Shape& a, const Shape& b) {
  const Shape& longer = a.size() >= b.size() ? a : b;
  const Shape& shorter = a.size() >= b.size() ? b : a;
  Shape out = longer;
  const int shift = longer.size() - shorter.size();
  for (int i = 0; i < shorter.size(); ++i) {
    const std::int64_t x = longer[shift + i];
    const std::int64_t y = shorter[i];
    check(x == y || x == 1 || y == 1, op, "shapes do not broadcast: {} and {}", a, b);
    out[shift + i] = x == 1 ? y : x;
  }
  return out;
}

int normalize_axis(std::string_view op, std::int64_t axis, int rank) {
  check(axis >= -rank && axis < rank, op, "axis {} is out of range for {} dimensions", axis, rank);
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

Dims normalize_axes(std::string_view op, const Dims& axes, int rank) {
  Dims out;
  if (axes.empty()) {
    for (int i = 0; i < rank; ++i) out.push_back(i);
    return out;
  }
  for (std::int64_t axis : axes) {
    const int a = normalize_axis(op, axis, rank);
    check(!out.contains(a), op, "axis {} is given twice in {}", axis, axes);
    out.push_back(a);
  }
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace minigpt
