#pragma once
// Views: the same numbers under another shape. All of them share the storage of their input; only `reshape`
// copies, and only where strides cannot express the new shape. Axes may be negative (counted from the end).

#include <vector>

#include "tensor/tensor.h"

namespace minigpt {

// The same elements in row-major order under another shape; one extent may be -1 (inferred). Copies only if
// it must.
Tensor reshape(const Tensor& x, Shape shape);
// Like reshape, but never copies: throws Error where the strides do not allow it, and says to use reshape.
Tensor view(const Tensor& x, Shape shape);
// Merges axes first..last (inclusive) into one: (B, T, C) -> flatten(x, 0, 1) -> (B*T, C).
Tensor flatten(const Tensor& x, int first = 0, int last = -1);

// Swaps two axes.
Tensor transpose(const Tensor& x, int a = -2, int b = -1);
// Axis i of the result is axis order[i] of x; `order` names every axis once.
Tensor permute(const Tensor& x, const Dims& order);

// Elements start, start + step, ... below end along an axis. start and end may be negative and are clamped to
// the extent, as in Python; step >= 1.
Tensor slice(const Tensor& x, int axis, std::int64_t start, std::int64_t end, std::int64_t step = 1);
// One element along an axis, which disappears. index may be negative.
Tensor select(const Tensor& x, int axis, std::int64_t index);
// Consecutive pieces of `size` along an axis; the last may be shorter.
std::vector<Tensor> split(const Tensor& x, std::int64_t size, int axis = 0);
// Consecutive pieces of the given sizes, which must add up to the extent.
std::vector<Tensor> split(const Tensor& x, const std::vector<std::int64_t>& sizes, int axis = 0);

// Repeats axes of extent 1 without copying (stride 0) and adds axes on the left; -1 keeps an extent.
Tensor expand(const Tensor& x, const Shape& shape);
// Drops an axis if its extent is 1; without an axis, drops all of those.
Tensor squeeze(const Tensor& x, int axis);
Tensor squeeze(const Tensor& x);
// Inserts an axis of extent 1.
Tensor unsqueeze(const Tensor& x, int axis);

namespace detail {
// The sizes that split(size) means, for both layers.
std::vector<std::int64_t> split_sizes(std::int64_t extent, std::int64_t size);
// Fills in a -1 and checks the element count.
Shape resolve_shape(std::string_view op, const Shape& from, Shape to);
}  // namespace detail

}  // namespace minigpt
