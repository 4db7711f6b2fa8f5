#pragma once
// Loops that the definitions of the operations are made of.

#include "tensor/arithmetic.h"
#include "tensor/gemm.h"
#include "tensor/unary.h"
#include "tests/differential/builder.h"

namespace minigpt::differential {

using Variables = std::vector<Variable>;
using Arrays = std::vector<Array>;

// y = f(x), element by element.
template <class F>
Array map(const Array& x, F&& f) {
  Array y{x.shape, {}};
  y.at.reserve(x.at.size());
  for (Number n : x.at) y.at.push_back(f(n));
  return y;
}

// y = f(a, b), broadcast.
template <class F>
Array zip(const Array& a, const Array& b, F&& f) {
  Array y{broadcast_shapes("zip", a.shape, b.shape), {}};
  for_each_index(y.shape, [&](const Dims& i, std::int64_t) {
    y.at.push_back(f(a[flat_index(i, a.shape)], b[flat_index(i, b.shape)]));
  });
  return y;
}

// An array of `shape` whose element at each index is from(index).
template <class F>
Array filled(const Shape& shape, F&& from) {
  Array y{shape, {}};
  y.at.reserve(static_cast<std::size_t>(numel(shape)));
  for_each_index(shape, [&](const Dims& index, std::int64_t) { y.at.push_back(from(index)); });
  return y;
}

inline Number at(const Array& x, const Dims& index) { return x[flat_index(index, x.shape)]; }
inline double at(const Stored& x, const Dims& index) {
  return x.values[static_cast<std::size_t>(flat_index(index, x.shape))];
}
inline double at(const Stored& x, std::int64_t n) { return x.values[static_cast<std::size_t>(n)]; }
inline bool defined(const Array& x) { return x.defined; }

// An axis counted from the front.
inline int front(int axis, int rank) { return axis < 0 ? axis + rank : axis; }

// y = f(row) for every row along `axis`, all of them equally long or, with extent 1, reduced to one number.
// f: const std::vector<Number>& -> std::vector<Number>
template <class F>
Array along(const Array& x, int axis, F&& f) {
  axis = front(axis, x.rank());
  Shape outer = x.shape;
  outer[axis] = 1;
  Array y = x;
  std::vector<Number> row;
  for_each_index(outer, [&](const Dims& index, std::int64_t) {
    Dims i = index;
    row.clear();
    for (i[axis] = 0; i[axis] < x.shape[axis]; ++i[axis]) row.push_back(at(x, i));
    const std::vector<Number> out = f(row);
    for (i[axis] = 0; i[axis] < x.shape[axis]; ++i[axis])
      y.at[static_cast<std::size_t>(flat_index(i, x.shape))] = out[static_cast<std::size_t>(i[axis])];
  });
  return y;
}

// y = f(all x at a place of the result), over some axes (all if none are named).
template <class F>
Array reduced(const Array& x, const Dims& axes, bool keepdim, F&& f) {
  const Dims gone = normalize_axes("reduced", axes, x.rank());
  Shape kept = x.shape, shape;
  for (int axis = 0; axis < x.rank(); ++axis) {
    if (gone.contains(axis)) kept[axis] = 1;
    if (keepdim || !gone.contains(axis)) shape.push_back(kept[axis]);
  }
  std::vector<std::vector<Number>> groups(static_cast<std::size_t>(numel(kept)));
  for_each_index(x.shape, [&](const Dims& index, std::int64_t n) {
    groups[static_cast<std::size_t>(flat_index(index, kept))].push_back(x[n]);
  });
  Array y{shape, {}};
  for (const auto& group : groups) y.at.push_back(f(group));
  return y;
}

// x W^T + b of the rows of x, which are `x.numel() / K` long; b may be left out.
Array affine(Tape& tape, const Array& x, const Array& weight, const Array& bias);
Number activate(Tape& tape, Number x, Activation f);
// Over the last axis; weight and bias may be left out.
Array normalised(Tape& tape, const Array& x, const Array* weight, const Array* bias, double eps, bool centre);
std::vector<Number> softmax(Tape& tape, const std::vector<Number>& row);

// Parts of the table, one for each file ops_*.cpp.
std::vector<Op> unary_ops(), binary_ops(), mask_ops(), shape_ops(), piece_ops(), reduction_ops(), index_ops(),
    row_ops(), norm_ops(), product_ops(), attention_ops();

// A list of one, and the op that takes one value of any shape with all numbers in [low, high].
template <class T>
std::vector<T> one(T x) {
  return {std::move(x)};
}
inline std::function<void(Builder&, const Op&)> take_any(double low = -1e3, double high = 1e3) {
  return [low, high](Builder& b, const Op& op) { b.apply(op, {b.within(b.any(), low, high)}); };
}

// A mask of `shape`, each element set with probability p; and a random mask that broadcasts to `shape`.
Stored random_mask(Builder& b, const Shape& shape, double p);
// Int32 numbers in [0, limit).
Stored random_indices(Builder& b, const Shape& shape, std::int64_t limit);
// Packed keep bits for n elements, and whether element i is kept.
Stored keep_bits(Builder& b, std::int64_t n, double p);
bool kept(const Stored& bits, std::int64_t i);

}  // namespace minigpt::differential
