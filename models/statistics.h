#pragma once
// The numbers that describe a tensor at a glance.

#include <cstdint>
#include <vector>

#include "tensor/tensor.h"

namespace minigpt {

struct Statistics {
  // Of the finite values; all 0 if there is none.
  double norm = 0;  // sqrt(sum x^2)
  double mean = 0;
  double std = 0;  // sqrt(mean of (x - mean)^2)
  double min = 0, max = 0;
  std::vector<std::int64_t> histogram;  // in equal bins from min to max, the last one closed

  double zeros = 0;             // share of all values that are exactly 0
  std::int64_t count = 0;       // all values
  std::int64_t not_finite = 0;  // how many of them are infinite or not a number

  double rms() const;  // norm / sqrt(finite values)
};

// x: float32 or float64, any shape   ->   see above. An empty tensor gives zeros. Sums are made in double and in order, so the
// result does not depend on threads. Throws Error for other types, or bins < 0.
Statistics statistics(const Tensor& x, int bins = 0);

}  // namespace minigpt
