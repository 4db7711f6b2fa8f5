#pragma once
// How elementwise operations walk their operands; shared by arithmetic.cpp, compare.cpp and unary.cpp.
//
// The result is always a new row-major tensor. It is cut into rows, and for each row every operand is either
// one run of memory (step 1) or one repeated element (step 0), which is all that the kernels need to know:
//
//   (B, T, C) + (C):     B * T rows of C elements, steps 1 and 1, the second operand starts over in each row
//   (B, T, C) * (B, T, 1): the same rows, steps 1 and 0
//   (B, T, C) + (B, T, C): one single row
//
// Rows are handed to threads in ranges that may begin and end anywhere; kernels compute an element the same
// way wherever it lies, so the cuts are invisible in the result.

#include <algorithm>
#include <array>
#include <limits>
#include <string_view>
#include <type_traits>
#include <utility>

#include "tensor/parallel.h"
#include "tensor/tensor.h"

namespace minigpt::detail {

// Elements worth handing to another thread: some 10 microseconds of a cheap operation.
inline constexpr std::int64_t kElementGrain = std::int64_t{1} << 15;

// Throws Error("[op] dtypes differ: float32 and int32") unless a and b hold the same type.
inline void check_same_dtype(std::string_view op, const Tensor& a, const Tensor& b) {
  check(a.dtype() == b.dtype(), op, "dtypes differ: {} and {}", name_of(a.dtype()), name_of(b.dtype()));
}

// `value` as an element of type T. Throws Error if T is an integer and cannot hold it exactly: no operation
// promotes.
template <class T>
T scalar_as(std::string_view op, double value) {
  if constexpr (std::is_integral_v<T>) {
    constexpr double kLow = std::numeric_limits<T>::min();
    constexpr double kHigh = std::numeric_limits<T>::max();
    check(value >= kLow && value <= kHigh && value == static_cast<double>(static_cast<T>(value)), op,
          "the scalar {} is not an element of {}", value, name_of(dtype_of<T>));
  }
  return static_cast<T>(value);
}

// K operands cut into rows that fill a result of the given shape. Refers to the operands, so it must not
// outlive them.
template <int K>
struct BroadcastRows {
  std::array<const Tensor*, K> given;
  std::array<Tensor, K> copy;  // row-major, where a row of the operand was neither run nor repetition
  std::int64_t total = 0;      // elements of the result
  std::int64_t n = 1;          // elements of a row
  std::array<std::int64_t, K> step{};
  Shape outer;                          // axes outside the row, outermost first
  std::array<Strides, K> outer_stride;  // of each operand over them, 0 where it is broadcast

  const Tensor& operand(int k) const { return copy[k].defined() ? copy[k] : *given[k]; }
};

// Merges neighbouring axes wherever all operands allow it, the row being the innermost merged axis.
template <int K>
void merge_axes(const Shape& shape, BroadcastRows<K>& rows) {
  rows.outer = {};
  rows.outer_stride = {};
  for (int i = 0; i < shape.size(); ++i) {
    const std::int64_t extent = shape[i];
    if (extent == 1) continue;
    std::array<std::int64_t, K> stride;
    const int last = rows.outer.size() - 1;
    bool merges = last >= 0;
    for (int k = 0; k < K; ++k) {
      const Tensor& x = rows.operand(k);
      const int axis = i - (shape.size() - x.rank());
      stride[k] = axis < 0 || x.shape()[axis] == 1 ? 0 : x.strides()[axis];
      merges = merges && rows.outer_stride[k][last] == stride[k] * extent;
    }
    if (merges)
      rows.outer[last] *= extent;
    else
      rows.outer.push_back(extent);
    for (int k = 0; k < K; ++k) {
      if (merges)
        rows.outer_stride[k][last] = stride[k];
      else
        rows.outer_stride[k].push_back(stride[k]);
    }
  }
}

template <int K>
BroadcastRows<K> make_rows(const Shape& shape, const std::array<const Tensor*, K>& operands) {
  BroadcastRows<K> rows;
  rows.given = operands;
  rows.total = numel(shape);
  merge_axes(shape, rows);
  const int inner = rows.outer.size() - 1;
  if (inner < 0) return rows;  // a single element: steps do not matter
  bool copied = false;
  for (int k = 0; k < K; ++k) {
    const std::int64_t step = rows.outer_stride[k][inner];
    if (step == 0 || step == 1) continue;
    rows.copy[k] = rows.operand(k).clone();
    copied = true;
  }
  if (copied)
    merge_axes(shape, rows);  // the innermost stride of a row-major tensor is 1, or 0 where it is broadcast
  const int row = rows.outer.size() - 1;
  rows.n = rows.outer[row];
  rows.outer.erase(row);
  for (int k = 0; k < K; ++k) {
    rows.step[k] = rows.outer_stride[k][row];
    rows.outer_stride[k].erase(row);
  }
  return rows;
}

// Calls fn(out, in, count) for pieces of rows that together cover the result once, on several threads: `out`
// is the first element of the piece in the result, in[k] the same in operand k (relative to its data
// pointer).
template <int K, class Fn>
void for_rows(const BroadcastRows<K>& rows, Fn&& fn) {
  parallel_for(rows.total, kElementGrain, [&](std::int64_t begin, std::int64_t end) {
    std::array<std::int64_t, kMaxRank> index{};
    std::array<std::int64_t, K> start{};  // of the current row, per operand
    std::int64_t rest = begin / rows.n;
    for (int i = rows.outer.size() - 1; i >= 0; --i) {
      index[static_cast<std::size_t>(i)] = rest % rows.outer[i];
      rest /= rows.outer[i];
      for (int k = 0; k < K; ++k) start[k] += index[static_cast<std::size_t>(i)] * rows.outer_stride[k][i];
    }
    std::int64_t column = begin % rows.n;
    while (true) {
      const std::int64_t count = std::min(rows.n - column, end - begin);
      std::array<std::int64_t, K> in;
      for (int k = 0; k < K; ++k) in[k] = start[k] + column * rows.step[k];
      fn(begin, in, count);
      begin += count;
      if (begin == end) return;
      column = 0;
      for (int i = rows.outer.size() - 1; i >= 0; --i) {  // the next row, like an odometer
        for (int k = 0; k < K; ++k) start[k] += rows.outer_stride[k][i];
        if (++index[static_cast<std::size_t>(i)] < rows.outer[i]) break;
        for (int k = 0; k < K; ++k) start[k] -= rows.outer[i] * rows.outer_stride[k][i];
        index[static_cast<std::size_t>(i)] = 0;
      }
    }
  });
}

// A kernel over rows of two operands; see kernels/binary.h.
template <class T, class Out>
using RowFn = void (*)(const T* a, std::int64_t a_step, const T* b, std::int64_t b_step, Out* out,
                       std::int64_t n);

// fn over two broadcast operands. Throws Error in the name of `op` if the shapes do not broadcast.
template <class T, class Out>
Tensor map_rows(std::string_view op, const Tensor& a, const Tensor& b, RowFn<T, Out> fn) {
  // The two everyday cases skip the general walk: small tensors are dominated by such overheads.
  const bool same = a.shape() == b.shape() && b.is_contiguous();
  if (a.is_contiguous() && (same || (b.numel() == 1 && b.rank() <= a.rank()))) {
    Tensor out = Tensor::empty(a.shape(), dtype_of<Out>);
    const T* x = a.data<T>();
    const T* y = b.data<T>();
    Out* z = out.mutable_data<Out>();
    const std::int64_t step = same ? 1 : 0;
    parallel_for(a.numel(), kElementGrain, [=](std::int64_t begin, std::int64_t end) {
      fn(x + begin, 1, y + begin * step, step, z + begin, end - begin);
    });
    return out;
  }
  Tensor out = Tensor::empty(broadcast_shapes(op, a.shape(), b.shape()), dtype_of<Out>);
  if (out.numel() == 0) return out;
  const BroadcastRows<2> rows = make_rows<2>(out.shape(), {&a, &b});
  const T* x = rows.operand(0).data<T>();
  const T* y = rows.operand(1).data<T>();
  Out* z = out.mutable_data<Out>();
  for_rows(rows, [&](std::int64_t o, const std::array<std::int64_t, 2>& in, std::int64_t n) {
    fn(x + in[0], rows.step[0], y + in[1], rows.step[1], z + o, n);
  });
  return out;
}

// fn(in, out, count) on ranges that cover x (any layout) and the new row-major result of the same shape.
template <class T, class Out, class Fn>
Tensor map_flat(const Tensor& x, Fn&& fn) {
  Tensor copy;
  const Tensor& flat = x.is_contiguous() ? x : (copy = x.contiguous());
  Tensor out = Tensor::empty(x.shape(), dtype_of<Out>);
  const T* in = flat.data<T>();
  Out* y = out.mutable_data<Out>();
  parallel_for(x.numel(), kElementGrain,
               [&](std::int64_t begin, std::int64_t end) { fn(in + begin, y + begin, end - begin); });
  return out;
}

// The same with one number as the second (or, if `scalar_first`, the first) operand of a row kernel.
template <class T, class Out>
Tensor map_rows(const Tensor& a, T scalar, RowFn<T, Out> fn, bool scalar_first = false) {
  return map_flat<T, Out>(a, [&](const T* in, Out* out, std::int64_t n) {
    if (scalar_first)
      fn(&scalar, 0, in, 1, out, n);
    else
      fn(in, 1, &scalar, 0, out, n);
  });
}

}  // namespace minigpt::detail
