#pragma once
// Shapes and strides: short lists of integers that live inline, without an allocation.

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

#include "tensor/error.h"

namespace minigpt {

// The most dimensions a tensor can have. Attention needs 4: (B, H, T, D).
inline constexpr int kMaxRank = 8;

// Up to kMaxRank integers: a shape (extents >= 0), strides (in elements) or a list of axes.
class Dims {
 public:
  Dims() = default;
  Dims(std::initializer_list<std::int64_t> values) : Dims(values.begin(), values.end()) {}
  template <class It>
  Dims(It first, It last) {
    for (; first != last; ++first) push_back(static_cast<std::int64_t>(*first));
  }
  explicit Dims(std::span<const std::int64_t> values) : Dims(values.begin(), values.end()) {}

  int size() const { return size_; }
  bool empty() const { return size_ == 0; }
  std::int64_t operator[](int i) const { return values_[i]; }
  std::int64_t& operator[](int i) { return values_[i]; }
  std::int64_t back() const { return values_[size_ - 1]; }
  const std::int64_t* begin() const { return values_; }
  const std::int64_t* end() const { return values_ + size_; }
  std::int64_t* begin() { return values_; }
  std::int64_t* end() { return values_ + size_; }

  void push_back(std::int64_t value);
  void insert(int at, std::int64_t value);
  void erase(int at);
  bool contains(std::int64_t value) const;

  friend bool operator==(const Dims& a, const Dims& b) {
    if (a.size_ != b.size_) return false;
    for (int i = 0; i < a.size_; ++i)
      if (a.values_[i] != b.values_[i]) return false;
    return true;
  }

  // "(2, 3)", "()" for a scalar.
  std::string str() const;

 private:
  std::int64_t values_[kMaxRank];
  int size_ = 0;
};

using Shape = Dims;
using Strides = Dims;

// Product of the extents, 1 for a scalar. Throws Error on a negative extent or when the product overflows.
std::int64_t numel(const Shape& shape);

// Row-major strides in elements: (2, 3, 4) -> (12, 4, 1).
Strides contiguous_strides(const Shape& shape);

// The shape that a and b broadcast to. Axes are aligned from the right; extents must be equal or one of
// them 1. Throws Error("[op] shapes do not broadcast: (2, 3) and (4)").
Shape broadcast_shapes(std::string_view op, const Shape& a, const Shape& b);

// Maps an axis in [-rank, rank) to [0, rank). Throws Error that names op, axis and rank.
int normalize_axis(std::string_view op, std::int64_t axis, int rank);

// The same for a list: sorted ascending, all distinct; an empty list means every axis.
Dims normalize_axes(std::string_view op, const Dims& axes, int rank);

}  // namespace minigpt

// "{}" prints str(). Not derived from fmt's string formatter: GCC 12 warns about the parsing of its widths.
template <>
struct fmt::formatter<minigpt::Dims> {
  constexpr auto parse(fmt::format_parse_context& context) { return context.begin(); }
  template <class Context>
  auto format(const minigpt::Dims& dims, Context& context) const {
    const std::string text = dims.str();
    return std::copy(text.begin(), text.end(), context.out());
  }
};
