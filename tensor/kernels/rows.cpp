#include "tensor/kernels/rows.h"

#include <math.h>

#include "tensor/kernels/softmax_row.h"
#include "tensor/simd/math.h"

namespace minigpt::MINIGPT_ISA {

// x, y: (rows, n).   y = exp(x - max x) / sum exp(x - max x)
template <class T>
static void softmax(const T* x, T* y, int64_t rows, int64_t n) {
  for (int64_t row = 0; row < rows; ++row, x += n, y += n) {
    const T shift = softmax_shift(row_max<T>(n, [&](int64_t i, auto lanes) { return lanes.load(x + i); }));
    const double sum = row_sum<T>(n, [&](int64_t i, auto lanes, Vec<T>& total) {
      const Vec<T> e = exp(lanes.load(x + i) - shift);
      lanes.store(y + i, e);
      total += lanes.only(e, T(0));
    });
    const Vec<T> scale = softmax_scale<T>(sum);
    for_lanes<T>(n, [&](int64_t i, auto lanes) { lanes.store(y + i, lanes.load(y + i) * scale); });
  }
}

// y, dy, dx: (rows, n).   dx = y * (dy - sum(dy * y))
template <class T>
static void softmax_backward(const T* y, const T* dy, T* dx, int64_t rows, int64_t n) {
  for (int64_t row = 0; row < rows; ++row, y += n, dy += n, dx += n) {
    const double dot = row_sum<T>(n, [&](int64_t i, auto lanes, Vec<T>& total) {
      total = fma(lanes.load(y + i), lanes.load(dy + i), total);
    });
    for_lanes<T>(n, [&](int64_t i, auto lanes) {
      lanes.store(dx + i, lanes.load(y + i) * (lanes.load(dy + i) - T(dot)));
    });
  }
}

// x, y: (rows, n).   y = (x - max x) - log(sum exp(x - max x))
template <class T>
static void log_softmax(const T* x, T* y, int64_t rows, int64_t n) {
  for (int64_t row = 0; row < rows; ++row, x += n, y += n) {
    const SoftmaxStats<T> stats = softmax_stats<T>(x, n);
    for_lanes<T>(n, [&](int64_t i, auto lanes) {
      lanes.store(y + i, (lanes.load(x + i) - stats.shift) - stats.log_sum);
    });
  }
}

// y, dy, dx: (rows, n).   dx = dy - exp(y) * sum(dy), and 0 in a row whose every entry was masked.
template <class T>
static void log_softmax_backward(const T* y, const T* dy, T* dx, int64_t rows, int64_t n) {
  for (int64_t row = 0; row < rows; ++row, y += n, dy += n, dx += n) {
    int64_t masked = 0;
    while (masked < n && y[masked] == -Float<T>::kInfinity) ++masked;
    if (masked == n) {
      for (int64_t i = 0; i < n; ++i) dx[i] = 0;
      continue;
    }
    const double sum =
        row_sum<T>(n, [&](int64_t i, auto lanes, Vec<T>& total) { total += lanes.load(dy + i); });
    for_lanes<T>(n, [&](int64_t i, auto lanes) {
      lanes.store(dx + i, lanes.load(dy + i) - exp(lanes.load(y + i)) * T(sum));
    });
  }
}

template <class T>
static void bind_rows(RowsKernels<T>& k) {
  k.softmax = softmax<T>;
  k.softmax_backward = softmax_backward<T>;
  k.log_softmax = log_softmax<T>;
  k.log_softmax_backward = log_softmax_backward<T>;
}

void bind(RowsKernels<float>& k) { bind_rows(k); }
void bind(RowsKernels<double>& k) { bind_rows(k); }

}  // namespace minigpt::MINIGPT_ISA
