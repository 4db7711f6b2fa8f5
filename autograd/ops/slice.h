#pragma once
// slice: a stretch of one axis; and pad, which puts it back. Each is the other's backward.

#include <algorithm>

#include "autograd/record.h"
#include "tensor/views.h"

namespace minigpt {

// y = zeros of `shape`, in which x fills the places start, start + step, ... of `axis`.
// x has the extents of `shape`, except on that axis.        dx = those places of dy
Variable pad(const Variable& x, const Shape& shape, int axis, std::int64_t start, std::int64_t step);

// y = elements start, start + step, ... below end of x along `axis`; a view. start and end may be negative
// and are clamped, as in Python.        dx = zeros of the shape of x, with dy in the places that were taken
inline Variable slice(const Variable& x, int axis, std::int64_t start, std::int64_t end,
                      std::int64_t step = 1) {
  return record("slice", slice(x.value(), axis, start, end, step), {x}, save(),
                [axis, start, step](const Saved& s, const Variable& dy) {
                  const Shape& shape = s.input_shape(0);
                  const std::int64_t n = shape[normalize_axis("slice", axis, shape.size())];
                  const std::int64_t first = std::clamp<std::int64_t>(start < 0 ? start + n : start, 0, n);
                  return Grads{pad(dy, shape, axis, first, step)};
                });
}

inline Variable pad(const Variable& x, const Shape& shape, int axis, std::int64_t start, std::int64_t step) {
  const std::int64_t end =
      start + x.dim(axis) * step;  // clamped to the extent: the last step may be cut short
  Tensor y = zeros(shape, x.dtype());
  slice(y, axis, start, end, step).copy_(x.value());
  return record("pad", std::move(y), {x}, save(), [axis, start, end, step](const Saved&, const Variable& dy) {
    return Grads{slice(dy, axis, start, end, step)};
  });
}

}  // namespace minigpt
