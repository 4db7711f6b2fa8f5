#pragma once
// The numbers that describe a tensor at a glance.

#include <cstdint>
#include <vector>

#include "tensor/tensor.h"

namespace minigpt {

struct Statistics {
  double norm = 0;                      // sqrt(sum x^2)
  double mean = 0;                      // over the finite values, like the next three
  double std = 0;                       // sqrt(mean of (x - mean)^2)
  double min = 0, max = 0;              // 0 if there is no finite value
  double zeros = 0;                     // share of exact zeros
  std::int64_t not_finite = 0;          // how many values are infinite or not a number
  std::vector<std::int64_t> histogram;  // of the finite values, in equal bins from min to max
};

// x: float32 or float64, any shape   ->   see above. An empty tensor gives zeros. Sums are made in double and in order, so the
// result does not depend on threads. Throws Error for other types, or bins < 0.
Statistics statistics(const Tensor& x, int bins = 0);

}  // namespace minigpt
