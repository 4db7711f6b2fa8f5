#pragma once
// Builder: grows an expression. It evaluates what it builds with the specification, so that operations with a domain
// find operands inside it, whatever faults the library has.

#include <algorithm>
#include <deque>
#include <optional>

#include "tests/differential/expression.h"

namespace minigpt::differential {

// How many numbers a shape holds, axes without elements left aside: a product over such an axis makes an array of the others.
inline std::int64_t room(const Shape& shape) {
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) count *= std::max<std::int64_t>(extent, 1);
  return count;
}

class Builder {
 public:
  // `large`: extents may be so large that loops are split over threads.
  Builder(std::uint64_t seed, bool large);

  Draw draw;
  const bool large;

  const Array& array(int value) const { return values_[static_cast<std::size_t>(value)]; }
  const Shape& shape(int value) const { return array(value).shape; }
  int rank(int value) const { return shape(value).size(); }
  // Smallest and largest number of a value; 0 and 0 if it is empty.
  struct Range {
    double low, high;
  };
  Range range(int value) const;

  // An extent; a shape of `rank` axes (any rank without) whose room is no more than limit().
  std::int64_t extent(bool may_be_zero = true);
  Shape random_shape(int rank = -1, bool may_be_zero = true);
  Shape random_rows();  // two axes, of which only the first may be empty
  std::int64_t limit() const { return large ? 90000 : 1500; }
  int axis_of(int value);   // of a value with at least one axis; negative half of the time
  Dims axes_of(int value);  // some of its axes, maybe none
  Stored stored(const Shape& shape, std::vector<double> values, DType dtype);  // with a random layout

  // A new leaf with values in [low, high].
  int leaf(const Shape& shape, double low = -2, double high = 2);
  // A value of any shape; one that satisfies a condition on its shape, if there is one.
  int any();
  template <class Condition>
  std::optional<int> find(Condition&& condition);
  // A value of a given shape: one that is there, an earlier one rearranged, or a new leaf.
  int of_shape(const Shape& shape);
  // An existing value that satisfies the condition, else one of the given shape.
  template <class Condition>
  int like(Condition&& condition, const Shape& otherwise);
  // The value, or if its numbers are not all in [low, high], one squeezed into it.
  int within(int value, double low, double high);
  // Another operand that broadcasts with `value`.
  int broadcasting_with(int value);

  // Adds a step; the first result, or nothing if a number became too large, undefined or inexact.
  std::optional<int> apply(const Op& op, std::vector<int> operands, Attributes attributes = {});

  // What has been built, with its roots.
  Expression finish();
  std::size_t steps() const { return expression_.steps.size(); }

 private:
  int add_value(Array array);
  std::vector<int> unused() const;

  Expression expression_;
  Tape tape_;
  std::deque<Array> values_;  // references to its elements stay good
};

template <class Condition>
std::optional<int> Builder::find(Condition&& condition) {
  std::vector<int> found;
  for (int v = 0; v < expression_.values; ++v)
    if (condition(v)) found.push_back(v);
  if (found.empty()) return std::nullopt;
  // Recent values more often, so that expressions grow deep.
  if (draw.chance(0.5)) return found.back();
  return draw.pick(found);
}

template <class Condition>
int Builder::like(Condition&& condition, const Shape& otherwise) {
  if (const auto v = find(condition); v && draw.chance(0.85)) return *v;
  return of_shape(otherwise);
}

}  // namespace minigpt::differential
