#pragma once
// What the tests of tensor operations share: tensors in every layout, and loops over indices.

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "tensor/tensor.h"
#include "tensor/views.h"

namespace minigpt::testing {

// Calls fn(index) for every index of the shape, in row-major order.
template <class Fn>
void for_each_index(const Shape& shape, Fn fn) {
  if (numel(shape) == 0) return;
  Dims index = shape;
  for (std::int64_t& i : index) i = 0;
  while (true) {
    fn(static_cast<const Dims&>(index));
    int axis = shape.size() - 1;
    while (axis >= 0 && ++index[axis] == shape[axis]) index[axis--] = 0;
    if (axis < 0) return;
  }
}

// Element of x at an index of a shape that x broadcasts to.
inline double broadcast_at(const Tensor& x, const Dims& index) {
  Dims own;
  for (int i = 0; i < x.rank(); ++i)
    own.push_back(x.shape()[i] == 1 ? 0 : index[index.size() - x.rank() + i]);
  return x.at(own);
}

// Equal as numbers, or both NaN.
inline bool same_number(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

// The number of elements where actual differs from expected(index), or from the wanted shape: 0 is a pass.
template <class Expected>
int mismatches(const Tensor& actual, const Shape& shape, Expected expected) {
  if (!(actual.shape() == shape)) return -1;
  int wrong = 0;
  for_each_index(shape, [&](const Dims& i) { wrong += !same_number(actual.at(i), expected(i)); });
  return wrong;
}

// Copies of x: row-major, behind an offset, with gaps between them, with the axes stored in reverse order,
// and with the last two axes swapped in storage.
inline std::vector<Tensor> layouts(const Tensor& x) {
  std::vector<Tensor> all = {x.clone()};
  const auto add = [&](Tensor window) {
    window.copy_(x);
    all.push_back(window);
  };
  const Tensor line = zeros({x.numel() + 3}, x.dtype());
  add(Tensor::view_of(line.storage(), 2, x.shape(), contiguous_strides(x.shape()), x.dtype()));
  if (x.rank() == 0) return all;
  Shape wide = x.shape();
  wide[x.rank() - 1] = wide.back() * 2 + 1;
  add(slice(zeros(wide, x.dtype()), -1, 1, wide.back(), 2));
  Shape reversed;
  Dims order;
  for (int i = x.rank() - 1; i >= 0; --i) {
    reversed.push_back(x.shape()[i]);
    order.push_back(i);
  }
  add(permute(zeros(reversed, x.dtype()), order));
  if (x.rank() < 2) return all;
  Shape swapped = x.shape();
  std::swap(swapped[x.rank() - 1], swapped[x.rank() - 2]);
  add(transpose(zeros(swapped, x.dtype())));
  return all;
}

// The text of the Error that fn throws; "no error" if it does not.
inline std::string error_of(const std::function<void()>& fn) {
  try {
    fn();
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

}  // namespace minigpt::testing
