#include "tests/differential/stored.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace minigpt::differential {
namespace {

thread_local MadeTensors* made = nullptr;

template <class T>
T poison() {
  if constexpr (std::is_floating_point_v<T>) return std::numeric_limits<T>::quiet_NaN();
  if constexpr (std::is_same_v<T, bool>) return true;
  return static_cast<T>(-77777777);
}

}  // namespace

MadeTensors::MadeTensors() { made = this; }
MadeTensors::~MadeTensors() { made = nullptr; }

std::string Layout::str() const {
  if (plain()) return "";
  std::string text;
  const auto list = [&](const char* name, const auto& values) {
    if (values.empty()) return;
    text += fmt::format("{}{}", text.empty() ? "" : ", ", name);
    for (const auto v : values) text += fmt::format(" {}", static_cast<int>(v));
  };
  list("memory order", order);
  list("steps", steps);
  list("repeated", repeated);
  if (offset > 0) text += fmt::format("{}offset {}", text.empty() ? "" : ", ", offset);
  return text;
}

Tensor Stored::tensor(DType floating) const {
  const DType type = is_floating(dtype) ? floating : dtype;
  const int rank = shape.size();
  std::vector<int> axes = layout.order;
  if (axes.empty()) {
    axes.resize(static_cast<std::size_t>(rank));
    std::iota(axes.begin(), axes.end(), 0);
  }
  Strides strides = shape;
  std::int64_t places = 1;
  for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis) {
    const auto i = static_cast<std::size_t>(*axis);
    const bool repeat = !layout.repeated.empty() && layout.repeated[i];
    const std::int64_t step = layout.steps.empty() ? 1 : layout.steps[i];
    strides[*axis] = repeat ? 0 : places * step;
    if (!repeat) places *= std::max<std::int64_t>(shape[*axis], 1) * step;
  }
  Tensor block = Tensor::empty({layout.offset + places}, type);
  const Tensor view = layout.plain() ? Tensor::empty(shape, type)
                                     : Tensor::view_of(block.storage(), layout.offset, shape, strides, type);
  visit_dtype(type, [&](auto zero) {
    using T = decltype(zero);
    T* all = block.mutable_data<T>();
    std::fill(all, all + block.numel(), poison<T>());
    Tensor target = view;
    T* to = target.mutable_data<T>();
    for_each_index(shape, [&](const Dims& index, std::int64_t n) {
      std::int64_t at = 0;
      for (int axis = 0; axis < rank; ++axis) at += index[axis] * view.strides()[axis];
      to[at] = static_cast<T>(values[static_cast<std::size_t>(n)]);
    });
  });
  if (made) made->tensors.push_back(view);
  return view;
}

Layout random_layout(Draw& draw, const Shape& shape) {
  Layout layout;
  const int rank = shape.size();
  if (draw.chance(0.5)) return layout;
  if (rank >= 2 && draw.chance(0.6)) {
    for (int i = 0; i < rank; ++i) layout.order.push_back(i);
    if (draw.chance(0.5)) {
      std::swap(layout.order[static_cast<std::size_t>(rank - 1)],
                layout.order[static_cast<std::size_t>(rank - 2)]);
    } else {
      for (int i = rank - 1; i > 0; --i)
        std::swap(layout.order[static_cast<std::size_t>(i)],
                  layout.order[static_cast<std::size_t>(draw.between(0, i))]);
    }
  }
  if (rank >= 1 && numel(shape) < 100000 && draw.chance(0.4)) {
    for (int i = 0; i < rank; ++i)
      layout.steps.push_back(draw.chance(0.5) ? static_cast<int>(draw.between(2, 3)) : 1);
  }
  if (draw.chance(0.5)) layout.offset = draw.between(1, 17);
  return layout;
}

void repeat_some_axes(Draw& draw, Stored& x) {
  if (x.shape.size() == 0) return;
  x.layout.repeated.assign(static_cast<std::size_t>(x.shape.size()), false);
  Shape kept = x.shape;
  for (int axis = 0; axis < x.shape.size(); ++axis) {
    if (x.shape[axis] == 0 || !draw.chance(0.5)) continue;
    x.layout.repeated[static_cast<std::size_t>(axis)] = true;
    kept[axis] = 1;
  }
  for_each_index(x.shape, [&](const Dims& index, std::int64_t n) {
    Dims first = index;
    for (int axis = 0; axis < kept.size(); ++axis)
      if (kept[axis] == 1) first[axis] = 0;
    x.values[static_cast<std::size_t>(n)] = x.values[static_cast<std::size_t>(flat_index(first, x.shape))];
  });
}

}  // namespace minigpt::differential
