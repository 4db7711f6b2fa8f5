#include "models/tensor_summary.h"

#include <algorithm>
#include <cmath>

namespace minigpt {

double TensorSummary::rms() const {
  const auto finite = static_cast<double>(count - not_finite);
  return finite > 0 ? norm / std::sqrt(finite) : 0;
}

TensorSummary summarise(const Tensor& x, int bins) {
  TensorSummary s;
  std::vector<double> values = x.to(DType::f64).to_vector<double>();
  s.count = x.numel();
  s.hist.assign(static_cast<std::size_t>(bins), 0);
  const auto zero = std::count(values.begin(), values.end(), 0.0);
  std::erase_if(values, [](double v) { return !std::isfinite(v); });
  const auto finite = static_cast<std::int64_t>(values.size());
  s.not_finite = s.count - finite;
  if (finite == 0) return s;
  const auto n = static_cast<double>(finite);
  s.zeros = static_cast<double>(zero) / static_cast<double>(s.count);
  s.min = *std::min_element(values.begin(), values.end());
  s.max = *std::max_element(values.begin(), values.end());
  double squares = 0;
  for (const double v : values) {
    s.mean += v / n;
    squares += v * v;
  }
  s.norm = std::sqrt(squares);
  double spread = 0;  // about the mean: the difference of two large squares would lose it
  for (const double v : values) spread += (v - s.mean) * (v - s.mean);
  s.std = std::sqrt(spread / n);
  const double width = s.max - s.min;
  for (const double v : values) {
    const auto bin = width > 0 ? static_cast<int>((v - s.min) / width * bins) : 0;
    ++s.hist[static_cast<std::size_t>(std::clamp(bin, 0, bins - 1))];
  }
  return s;
}

}  // namespace minigpt
