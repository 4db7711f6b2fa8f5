#include "tensor/kernels/norms.h"

#include <math.h>

#include "tensor/kernels/row_loops.h"

namespace minigpt::MINIGPT_ISA {

template <class T>
struct Moments {
  T mean;
  double variance;  // biased: divided by n
};

// Mean and variance of a row in two passes. The second one, about the rounded mean m, also measures by how
// much m is off (Chan, Golub, LeVeque 1983, "corrected two-pass algorithm"):
//   c = sum(x - m) / n,   mean = m + c,   variance = sum((x - m)^2) / n - c^2
// A row of equal numbers so gives exactly that number and variance 0, whatever its size.
template <class T>
static Moments<T> moments(const T* x, int64_t n) {
  const double sum = row_sum<T>(n, [&](int64_t i, auto lanes, Vec<T>& total) { total += lanes.load(x + i); });
  const T rough = T(sum / double(n));
  double sums[2];
  row_sums<T>(n, sums, [&](int64_t i, auto lanes, Vec<T>(&total)[2]) {
    const Vec<T> d = lanes.only(lanes.load(x + i) - rough, T(0));
    total[0] += d;
    total[1] = fma(d, d, total[1]);
  });
  const double correction = sums[0] / double(n);
  const double variance = sums[1] / double(n) - correction * correction;
  return {T(double(rough) + correction), variance < 0 ? 0 : variance};
}

// x, y: (rows, n); weight, bias: (n).   y = (x - mean) * rstd * weight + bias
template <class T>
static void layer_norm(const T* x, const T* weight, const T* bias, double eps, T* y, T* mean, T* rstd,
                       int64_t rows, int64_t n) {
  for (int64_t row = 0; row < rows; ++row, x += n, y += n) {
    const Moments<T> m = moments(x, n);
    const T scale = T(1 / sqrt(m.variance + eps));
    mean[row] = m.mean;
    rstd[row] = scale;
    for_lanes<T>(n, [&](int64_t i, auto lanes) {
      Vec<T> v = (lanes.load(x + i) - m.mean) * scale;
      if (weight) v *= lanes.load(weight + i);
      if (bias) v += lanes.load(bias + i);
      lanes.store(y + i, v);
    });
  }
}

// With h = (x - mean) * rstd and g = dy * weight, all (rows, n):
//   dx = rstd * (g - mean(g) - h * mean(g * h)),   dweight += sum_rows dy * h,   dbias += sum_rows dy
template <class T>
static void layer_norm_backward(const T* x, const T* mean, const T* rstd, const T* weight, const T* dy, T* dx,
                                T* dweight, T* dbias, int64_t rows, int64_t n) {
  for (int64_t row = 0; row < rows; ++row, x += n, dy += n, dx += n) {
    const Vec<T> center = mean[row], scale = rstd[row];
    const auto normalised = [&](int64_t i, auto lanes) { return (lanes.load(x + i) - center) * scale; };
    const auto upstream = [&](int64_t i, auto lanes) {
      const Vec<T> d = lanes.load(dy + i);
      return weight ? d * lanes.load(weight + i) : d;
    };
    double sums[2];
    // Lanes beyond the row hold an upstream gradient of 0, but (0 - mean) * rstd may be anything.
    row_sums<T>(n, sums, [&](int64_t i, auto lanes, Vec<T>(&total)[2]) {
      const Vec<T> g = upstream(i, lanes);
      total[0] += g;
      total[1] = fma(g, lanes.only(normalised(i, lanes), T(0)), total[1]);
    });
    const Vec<T> mean_g = T(sums[0] / double(n)), mean_gh = T(sums[1] / double(n));
    for_lanes<T>(n, [&](int64_t i, auto lanes) {
      const Vec<T> h = normalised(i, lanes);
      const Vec<T> d = lanes.load(dy + i);
      lanes.store(dx + i, scale * (upstream(i, lanes) - mean_g - h * mean_gh));
      if (dweight) lanes.store(dweight + i, fma(d, h, lanes.load(dweight + i)));
      if (dbias) lanes.store(dbias + i, lanes.load(dbias + i) + d);
    });
  }
}

// x, y: (rows, n); weight: (n).   rrms = 1 / sqrt(mean(x^2) + eps),   y = x * rrms * weight
template <class T>
static void rms_norm(const T* x, const T* weight, double eps, T* y, T* rrms, int64_t rows, int64_t n) {
  for (int64_t row = 0; row < rows; ++row, x += n, y += n) {
    const double squares = row_sum<T>(n, [&](int64_t i, auto lanes, Vec<T>& total) {
      const Vec<T> v = lanes.load(x + i);
      total = fma(v, v, total);
    });
    const T scale = T(1 / sqrt(squares / double(n) + eps));
    rrms[row] = scale;
    for_lanes<T>(n, [&](int64_t i, auto lanes) {
      const Vec<T> v = lanes.load(x + i) * scale;
      lanes.store(y + i, weight ? v * lanes.load(weight + i) : v);
    });
  }
}

// With h = x * rrms and g = dy * weight, all (rows, n):
//   dx = rrms * (g - h * mean(g * h)),   dweight += sum_rows dy * h
template <class T>
static void rms_norm_backward(const T* x, const T* rrms, const T* weight, const T* dy, T* dx, T* dweight,
                              int64_t rows, int64_t n) {
  for (int64_t row = 0; row < rows; ++row, x += n, dy += n, dx += n) {
    const Vec<T> scale = rrms[row];
    const auto upstream = [&](int64_t i, auto lanes) {
      const Vec<T> d = lanes.load(dy + i);
      return weight ? d * lanes.load(weight + i) : d;
    };
    const double dot = row_sum<T>(n, [&](int64_t i, auto lanes, Vec<T>& total) {
      total = fma(upstream(i, lanes), lanes.load(x + i) * scale, total);
    });
    const Vec<T> mean_gh = T(dot / double(n));
    for_lanes<T>(n, [&](int64_t i, auto lanes) {
      const Vec<T> h = lanes.load(x + i) * scale;
      const Vec<T> d = lanes.load(dy + i);
      lanes.store(dx + i, scale * (upstream(i, lanes) - h * mean_gh));
      if (dweight) lanes.store(dweight + i, fma(d, h, lanes.load(dweight + i)));
    });
  }
}

template <class T>
static void bind_norms(NormsKernels<T>& k) {
  k.layer_norm = layer_norm<T>;
  k.layer_norm_backward = layer_norm_backward<T>;
  k.rms_norm = rms_norm<T>;
  k.rms_norm_backward = rms_norm_backward<T>;
}

void bind(NormsKernels<float>& k) { bind_norms(k); }
void bind(NormsKernels<double>& k) { bind_norms(k); }

}  // namespace minigpt::MINIGPT_ISA
