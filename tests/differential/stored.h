#pragma once
// Numbers and the way they are to lie in memory.

#include <string>
#include <vector>

#include "tensor/tensor.h"
#include "tests/differential/draw.h"

namespace minigpt::differential {

// How a tensor lies in its storage. An empty list stands for the plain case on every axis.
struct Layout {
  std::vector<int> order;  // the axes from the outermost in memory to the innermost
  std::vector<int> steps;  // elements along an axis are so many places apart, the ones between are never read
  std::vector<bool> repeated;  // axes along which all elements are one (stride 0)
  std::int64_t offset = 0;     // unused elements before the first one

  bool plain() const { return order.empty() && steps.empty() && repeated.empty() && offset == 0; }
  std::string str() const;
};

// The values of a tensor in row-major order, exact in float32, with its layout.
struct Stored {
  Shape shape;
  std::vector<double> values;
  DType dtype = DType::f32;  // for a floating one, the type of the run takes its place
  Layout layout;

  // A tensor that holds them. Everything in its storage that the view does not show is NaN, or for other types a
  // number that does not fit, so that a wrong stride is noticed.
  Tensor tensor(DType floating = DType::f32) const;
};

// While alive, collects the tensors that Stored::tensor makes in this thread.
class MadeTensors {
 public:
  MadeTensors();
  ~MadeTensors();
  MadeTensors(const MadeTensors&) = delete;
  MadeTensors& operator=(const MadeTensors&) = delete;
  std::vector<Tensor> tensors;
};

// A random layout; plain half of the time. `may_repeat`: axes along which the values are equal may have stride 0.
Layout random_layout(Draw& draw, const Shape& shape);
// Makes the values equal along some axes, and lets these have stride 0.
void repeat_some_axes(Draw& draw, Stored& x);

// Calls visit(index, n) for every index of a shape in row-major order.
template <class Visit>
void for_each_index(const Shape& shape, Visit&& visit) {
  Dims index;
  for (int axis = 0; axis < shape.size(); ++axis) index.push_back(0);
  const std::int64_t count = numel(shape);
  for (std::int64_t n = 0; n < count; ++n) {
    visit(static_cast<const Dims&>(index), n);
    for (int axis = shape.size() - 1; axis >= 0 && ++index[axis] == shape[axis]; --axis) index[axis] = 0;
  }
}

// The row-major number of an index; axes that the shape has with extent 1 count as index 0, and leading axes of the
// index that the shape lacks are left out: the rule of broadcasting.
inline std::int64_t flat_index(const Dims& index, const Shape& shape) {
  std::int64_t n = 0;
  const int lead = index.size() - shape.size();
  for (int axis = 0; axis < shape.size(); ++axis)
    n = n * shape[axis] + (shape[axis] == 1 ? 0 : index[axis + lead]);
  return n;
}

}  // namespace minigpt::differential
