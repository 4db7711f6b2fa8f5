#pragma once
// A tensor in a handful of numbers, for tables and pictures.

#include <vector>

#include "tensor/tensor.h"

namespace minigpt {

// Of the elements that are finite, computed in double; all 0 if there is none.
struct TensorSummary {
  double norm = 0;           // sqrt(sum x^2)
  double mean = 0, std = 0;  // std: of these elements, divided by n
  double min = 0, max = 0;
  double zeros = 0;                // share of all elements that are exactly 0
  std::int64_t count = 0;          // all elements
  std::int64_t not_finite = 0;     // how many are NaN or infinite
  std::vector<std::int64_t> hist;  // of the finite ones: equal bins from min to max, the last one closed
  double rms() const;              // norm / sqrt(finite elements)
};

// x: any shape and numeric type.
TensorSummary summarise(const Tensor& x, int bins = 32);

}  // namespace minigpt
