#pragma once
// Time, and the middle of several times.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <vector>

namespace minigpt::tools {

inline double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// The middle value (the mean of the two in the middle); 0 of nothing.
inline double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 ? values[half] : (values[half - 1] + values[half]) / 2;
}

// Seconds of one call of f: after warming up for a quarter of `slice` seconds, f is called for about `slice` seconds in
// batches of 2 ms or one call, and the median batch counts, so that a batch that was interrupted does not; or the
// fastest one, on a machine that is busy with other things.
template <class F>
double seconds_per_call(double slice, const F& f, bool fastest = false) {
  constexpr double kBatch = 2e-3;
  double start = now(), elapsed = 0;
  int calls = 0;
  do {
    f();
    ++calls;
    elapsed = now() - start;
  } while (elapsed < slice / 4);
  const int batch = std::max(1, static_cast<int>(std::lround(kBatch * calls / std::max(elapsed, 1e-9))));
  std::vector<double> times;
  const double end = now() + slice;
  do {
    start = now();
    for (int i = 0; i < batch; ++i) f();
    times.push_back((now() - start) / batch);
  } while (now() < end);
  return fastest ? *std::min_element(times.begin(), times.end()) : median(std::move(times));
}

}  // namespace minigpt::tools
