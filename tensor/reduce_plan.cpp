#include "tensor/reduce_plan.h"

#include "tensor/views.h"

namespace minigpt::detail {
namespace {

Shape reduced_shape(const Shape& shape, const Dims& axes, bool keepdim) {
  Shape out;
  for (int i = 0; i < shape.size(); ++i) {
    if (!axes.contains(i))
      out.push_back(shape[i]);
    else if (keepdim)
      out.push_back(1);
  }
  return out;
}

}  // namespace

ReducePlan make_plan(std::string_view op, const Tensor& x, const Dims& wanted, bool keepdim, bool rows_only) {
  const Dims axes = normalize_axes(op, wanted, x.rank());
  ReducePlan plan;
  plan.shape = reduced_shape(x.shape(), axes, keepdim);
  int changes = 0;  // between kept and reduced, ignoring axes of one element
  bool last = false;
  Dims kept;
  for (int i = 0; i < x.rank(); ++i) {
    const bool reduced = axes.contains(i);
    if (!reduced) kept.push_back(i);
    const std::int64_t extent = x.shape()[i];
    if (extent == 1) continue;
    if (reduced != last) ++changes;
    last = reduced;
    (reduced ? plan.n : changes == 0 ? plan.outer : plan.inner) *= extent;
  }
  if (x.is_contiguous() && (changes <= 1 || (changes == 2 && !rows_only))) {
    plan.x = x;
    return plan;
  }
  plan.outer *= plan.inner;
  plan.inner = 1;
  Dims order = kept;
  for (std::int64_t axis : axes) order.push_back(axis);
  plan.x = permute(x, order).contiguous();
  return plan;
}

}  // namespace minigpt::detail
