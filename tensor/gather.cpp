#include "tensor/gather.h"

#include <algorithm>
#include <cstring>

#include "tensor/parallel.h"
#include "tensor/views.h"

namespace minigpt {
namespace {

// Elements per parallel chunk.
constexpr std::int64_t kChunk = 16384;

std::int64_t grain_for(std::int64_t elements) {
  return std::max<std::int64_t>(1, kChunk / std::max<std::int64_t>(1, elements));
}

// The coordinates of element `i` of a row-major tensor.
Dims position(std::int64_t i, const Shape& shape) {
  Dims at = shape;
  for (int axis = shape.size() - 1; axis >= 0; --axis) {
    at[axis] = i % shape[axis];
    i /= shape[axis];
  }
  return at;
}

// The indices as contiguous int32, all inside [0, extent). `table` is the shape they index, for the message.
Tensor checked_indices(std::string_view op, const Tensor& index, std::int64_t extent, const Shape& table) {
  check(index.defined(), op, "the index is undefined");
  check(index.dtype() == DType::i32, op, "indices must be int32, got {}", name_of(index.dtype()));
  Tensor out = index.contiguous();
  const std::int32_t* ids = out.data<std::int32_t>();
  for (std::int64_t i = 0; i < out.numel(); ++i)
    if (ids[i] < 0 || ids[i] >= extent) [[unlikely]]
      fail(op, "index {} at position {} is outside [0, {}) of the table {}", ids[i], position(i, out.shape()),
           extent, table);
  return out;
}

// gather and scatter_add walk lines along the axis. Line number l of the index tensor starts at `index` and
// goes on in steps of index_step; the same line of the table starts at `table`.
struct Lines {
  Shape outer;  // shape of the index without the axis
  Strides index_strides, table_strides;
  std::int64_t length, index_step, table_step;

  Lines(const Shape& index, const Shape& table, int axis) : outer(index) {
    index_strides = contiguous_strides(index);
    table_strides = contiguous_strides(table);
    length = index[axis];
    index_step = index_strides[axis];
    table_step = table_strides[axis];
    outer.erase(axis);
    index_strides.erase(axis);
    table_strides.erase(axis);
  }

  template <class Fn>
  void for_each(Fn fn) const {
    parallel_for(numel(outer), grain_for(length), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t line = begin; line < end; ++line) {
        const Dims at = position(line, outer);
        std::int64_t in_index = 0, in_table = 0;
        for (int i = 0; i < at.size(); ++i) {
          in_index += at[i] * index_strides[i];
          in_table += at[i] * table_strides[i];
        }
        fn(in_index, in_table);
      }
    });
  }
};

void check_gather(std::string_view op, const Shape& table, int axis, const Shape& index) {
  check(index.size() == table.size(), op, "index and table need equally many dimensions, got {} and {}",
        index, table);
  for (int i = 0; i < table.size(); ++i)
    check(i == axis || index[i] <= table[i], op, "index {} is longer than the table {} on axis {}", index,
          table, i);
}

// A table (outer, extent, inner) with the axis in the middle.
struct Slices {
  std::int64_t outer = 1, extent, inner = 1;

  Slices(const Shape& table, int axis) : extent(table[axis]) {
    for (int i = 0; i < axis; ++i) outer *= table[i];
    for (int i = axis + 1; i < table.size(); ++i) inner *= table[i];
  }
};

Tensor select_slices(std::string_view op, const Tensor& x, int axis, const Tensor& index,
                     const Shape& shape) {
  const Tensor ids = checked_indices(op, index, x.shape()[axis], x.shape());
  const Tensor table = x.contiguous();
  Tensor out = Tensor::empty(shape, x.dtype());
  const Slices s(x.shape(), axis);
  const std::int64_t count = ids.numel();
  visit_dtype(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const std::int32_t* id = ids.data<std::int32_t>();
    const T* from = table.data<T>();
    T* to = out.mutable_data<T>();
    parallel_for(s.outer * count, grain_for(s.inner), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i)
        std::memcpy(to + i * s.inner, from + (i / count * s.extent + id[i % count]) * s.inner,
                    static_cast<std::size_t>(s.inner) * sizeof(T));
    });
  });
  return out;
}

// Why columns: every thread adds its own columns of all slices, in the order of the indices. Splitting the
// slices instead would have two threads add to one row of the table, and a table row that is used often (the
// space in a text) would leave the threads unevenly busy.
Tensor add_slices(std::string_view op, const Shape& shape, int axis, const Tensor& index, const Tensor& src) {
  const Tensor ids = checked_indices(op, index, shape[axis], shape);
  const Tensor terms = src.contiguous();
  return visit_floating(op, src.dtype(), [&](auto zero) {
    using T = decltype(zero);
    Tensor out = zeros(shape, src.dtype());
    const Slices s(shape, axis);
    const std::int64_t count = ids.numel();
    const std::int32_t* id = ids.data<std::int32_t>();
    const T* from = terms.data<T>();
    T* to = out.mutable_data<T>();
    constexpr std::int64_t kCacheLine = 64 / sizeof(T);  // threads should not write to the same one
    const std::int64_t grain = (grain_for(count) + kCacheLine - 1) / kCacheLine * kCacheLine;
    for (std::int64_t o = 0; o < s.outer; ++o) {
      parallel_for(s.inner, grain, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = 0; i < count; ++i) {
          const T* term = from + (o * count + i) * s.inner;
          T* sum = to + (o * s.extent + id[i]) * s.inner;
          for (std::int64_t c = begin; c < end; ++c) sum[c] += term[c];
        }
      });
    }
    return out;
  });
}

}  // namespace

Tensor gather(const Tensor& x, int axis, const Tensor& index) {
  constexpr auto kOp = "gather";
  check(x.defined(), kOp, "the table is undefined");
  axis = normalize_axis(kOp, axis, x.rank());
  check_gather(kOp, x.shape(), axis, index.shape());
  const Tensor ids = checked_indices(kOp, index, x.shape()[axis], x.shape());
  const Tensor table = x.contiguous();
  Tensor out = Tensor::empty(index.shape(), x.dtype());
  const Lines lines(index.shape(), x.shape(), axis);
  visit_dtype(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const std::int32_t* id = ids.data<std::int32_t>();
    const T* from = table.data<T>();
    T* to = out.mutable_data<T>();
    lines.for_each([&](std::int64_t in_index, std::int64_t in_table) {
      for (std::int64_t j = 0; j < lines.length; ++j) {
        const std::int64_t i = in_index + j * lines.index_step;
        to[i] = from[in_table + id[i] * lines.table_step];
      }
    });
  });
  return out;
}

Tensor scatter_add(const Shape& shape, int axis, const Tensor& index, const Tensor& src) {
  constexpr auto kOp = "scatter_add";
  axis = normalize_axis(kOp, axis, shape.size());
  check_gather(kOp, shape, axis, index.shape());
  check(src.defined() && src.shape() == index.shape(), kOp, "src must have the shape of index {}, got {}",
        index.shape(), src.shape());
  const Tensor ids = checked_indices(kOp, index, shape[axis], shape);
  const Tensor terms = src.contiguous();
  const Lines lines(index.shape(), shape, axis);
  return visit_floating(kOp, src.dtype(), [&](auto zero) {
    using T = decltype(zero);
    Tensor out = zeros(shape, src.dtype());
    const std::int32_t* id = ids.data<std::int32_t>();
    const T* from = terms.data<T>();
    T* to = out.mutable_data<T>();
    // A line of the index only adds to the same line of the table, so lines can run side by side.
    lines.for_each([&](std::int64_t in_index, std::int64_t in_table) {
      for (std::int64_t j = 0; j < lines.length; ++j) {
        const std::int64_t i = in_index + j * lines.index_step;
        to[in_table + id[i] * lines.table_step] += from[i];
      }
    });
    return out;
  });
}

Tensor index_select(const Tensor& x, int axis, const Tensor& index) {
  constexpr auto kOp = "index_select";
  check(x.defined(), kOp, "the table is undefined");
  check(index.rank() == 1, kOp, "the index must have one dimension, got {}", index.shape());
  axis = normalize_axis(kOp, axis, x.rank());
  Shape shape = x.shape();
  shape[axis] = index.numel();
  return select_slices(kOp, x, axis, index, shape);
}

Tensor index_add(const Shape& shape, int axis, const Tensor& index, const Tensor& src) {
  constexpr auto kOp = "index_add";
  check(index.rank() == 1, kOp, "the index must have one dimension, got {}", index.shape());
  axis = normalize_axis(kOp, axis, shape.size());
  Shape wanted = shape;
  wanted[axis] = index.numel();
  check(src.defined() && src.shape() == wanted, kOp, "src must be {}, got {}", wanted, src.shape());
  return add_slices(kOp, shape, axis, index, src);
}

Tensor embedding_rows(const Tensor& weight, const Tensor& index) {
  constexpr auto kOp = "embedding";
  check(weight.defined() && weight.rank() == 2, kOp, "the table must be (V, C), got {}", weight.shape());
  Shape shape = index.shape();
  check(shape.size() < kMaxRank, kOp, "the index has too many dimensions: {}", shape);
  shape.push_back(weight.shape()[1]);
  return select_slices(kOp, weight, 0, index, shape);
}

Tensor embedding_backward(const Tensor& dy, const Tensor& index, std::int64_t rows) {
  constexpr auto kOp = "embedding_backward";
  check(dy.defined() && dy.rank() == index.rank() + 1, kOp, "dy must be {} + (C), got {}", index.shape(),
        dy.shape());
  Shape wanted = index.shape();
  wanted.push_back(dy.shape().back());
  check(dy.shape() == wanted, kOp, "dy must be {}, got {}", wanted, dy.shape());
  return add_slices(kOp, {rows, dy.shape().back()}, 0, index, dy);
}

}  // namespace minigpt
