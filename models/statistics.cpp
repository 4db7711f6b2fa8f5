#include "models/statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tensor/dispatch.h"
#include "tensor/error.h"

namespace minigpt {
namespace {

template <class T>
Statistics describe(const T* x, std::int64_t n, int bins) {
  Statistics s;
  double sum = 0, squares = 0, low = std::numeric_limits<double>::infinity(), high = -low;
  std::int64_t zeros = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    const double v = static_cast<double>(x[i]);
    if (!std::isfinite(v)) {
      ++s.not_finite;
      continue;
    }
    squares += v * v;
    sum += v;
    low = std::min(low, v);
    high = std::max(high, v);
    zeros += v == 0;
  }
  s.count = n;
  s.norm = std::sqrt(squares);
  s.histogram.assign(static_cast<std::size_t>(bins), 0);
  const std::int64_t finite = n - s.not_finite;
  if (finite == 0) return s;
  s.min = low;
  s.max = high;
  s.mean = sum / static_cast<double>(finite);
  s.zeros = static_cast<double>(zeros) / static_cast<double>(n);

  // A second pass: the mean of squares minus the square of the mean would lose all digits of a narrow distribution.
  double deviation = 0;
  const double scale = high > low ? bins / (high - low) : 0;
  for (std::int64_t i = 0; i < n; ++i) {
    const double v = static_cast<double>(x[i]);
    if (!std::isfinite(v)) continue;
    deviation += (v - s.mean) * (v - s.mean);
    if (bins > 0) ++s.histogram[static_cast<std::size_t>(std::min<double>(bins - 1, (v - low) * scale))];
  }
  s.std = std::sqrt(deviation / static_cast<double>(finite));
  return s;
}

}  // namespace

double Statistics::rms() const {
  return count > not_finite ? norm / std::sqrt(static_cast<double>(count - not_finite)) : 0;
}

Statistics statistics(const Tensor& x, int bins) {
  check(bins >= 0, "statistics", "bins must not be negative, got {}", bins);
  const Tensor flat = x.contiguous();
  Statistics result;
  visit_floating("statistics", x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    result = describe(flat.data<T>(), flat.numel(), bins);
  });
  return result;
}

}  // namespace minigpt
