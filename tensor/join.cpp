#include "tensor/join.h"

#include "tensor/copy.h"
#include "tensor/views.h"

namespace minigpt {
namespace {

void check_alike(std::string_view op, const std::vector<Tensor>& tensors, int free_axis) {
  const Tensor& first = tensors.front();
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const Tensor& t = tensors[i];
    check(t.defined(), op, "tensor {} is undefined", i);
    check(t.dtype() == first.dtype(), op, "types of tensors 0 and {} differ: {} and {}", i,
          name_of(first.dtype()), name_of(t.dtype()));
    Shape expected = first.shape();
    if (free_axis >= 0 && t.rank() == first.rank()) expected[free_axis] = t.shape()[free_axis];
    check(t.shape() == expected, op, "shapes of tensors 0 and {} do not fit: {} and {}", i, first.shape(),
          t.shape());
  }
}

}  // namespace

Tensor concat(const std::vector<Tensor>& tensors, int axis) {
  constexpr auto kOp = "concat";
  check(!tensors.empty(), kOp, "needs at least one tensor");
  check(tensors.front().defined(), kOp, "tensor 0 is undefined");
  axis = normalize_axis(kOp, axis, tensors.front().rank());
  check_alike(kOp, tensors, axis);
  Shape shape = tensors.front().shape();
  shape[axis] = 0;
  for (const Tensor& t : tensors) shape[axis] += t.shape()[axis];
  const Tensor out = Tensor::empty(shape, tensors.front().dtype());
  std::int64_t start = 0;
  for (const Tensor& t : tensors) {
    const std::int64_t end = start + t.shape()[axis];
    Tensor part = slice(out, axis, start, end);
    copy_elements(t, part);
    start = end;
  }
  return out;
}

Tensor stack(const std::vector<Tensor>& tensors, int axis) {
  constexpr auto kOp = "stack";
  check(!tensors.empty(), kOp, "needs at least one tensor");
  check(tensors.front().defined(), kOp, "tensor 0 is undefined");
  Shape shape = tensors.front().shape();
  check(shape.size() < kMaxRank, kOp, "no room for another dimension: {}", shape);
  axis = normalize_axis(kOp, axis, shape.size() + 1);
  check_alike(kOp, tensors, -1);
  shape.insert(axis, static_cast<std::int64_t>(tensors.size()));
  const Tensor out = Tensor::empty(shape, tensors.front().dtype());
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    Tensor part = select(out, axis, static_cast<std::int64_t>(i));
    copy_elements(tensors[i], part);
  }
  return out;
}

}  // namespace minigpt
