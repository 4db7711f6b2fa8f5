#include "tensor/sampling.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numbers>
#include <numeric>
#include <type_traits>

#include "tensor/error.h"

namespace minigpt {

namespace {

template <class T>
void fill_bernoulli(Generator& rng, std::span<T> out, double p) {
  check(p >= 0 && p <= 1, "bernoulli", "p must be in [0, 1], got {}", p);
  for (T& x : out) x = rng.unit_double() < p ? T(1) : T(0);
}

template <class T>
void fill_bernoulli(Generator& rng, std::span<const T> p, std::span<T> out) {
  check(p.size() == out.size(), "bernoulli", "sizes of p and out differ: {} != {}", p.size(), out.size());
  for (const T x : p) check(x >= 0 && x <= 1, "bernoulli", "p must be in [0, 1], got {}", x);
  for (std::size_t i = 0; i < p.size(); ++i) {
    if constexpr (std::is_same_v<T, float>)
      out[i] = rng.unit_float() < p[i] ? 1.0f : 0.0f;
    else
      out[i] = rng.unit_double() < p[i] ? 1.0 : 0.0;
  }
}

template <class T>
void fill_exponential(Generator& rng, std::span<T> out, double lambda) {
  check(lambda > 0, "exponential", "lambda must be > 0, got {}", lambda);
  for (T& x : out) x = static_cast<T>(-1 / lambda * std::log(1 - rng.unit_double()));
}

template <class T>
void check_weights(std::span<const T> row, std::size_t index) {
  T sum = 0;
  for (const T w : row) {
    check(w >= 0 && std::isfinite(w), "multinomial", "weights must be finite and >= 0, got {} in row {}", w,
          index);
    sum += w;
  }
  check(sum > 0, "multinomial", "the weights of row {} sum to {}, not to something positive", index, sum);
}

// The indices of the out.size() largest weight / Exp(1). `scores` and `order` are scratch of the row's size.
template <class T>
void race(Generator& rng, std::span<const T> row, std::span<std::int64_t> out, std::vector<T>& scores,
          std::vector<std::int64_t>& order) {
  fill_exponential(rng, std::span<T>(scores), 1.0);
  for (std::size_t i = 0; i < row.size(); ++i) scores[i] = row[i] / scores[i];
  if (out.size() == 1) {  // the usual call in text generation
    out[0] = std::max_element(scores.begin(), scores.end()) - scores.begin();
    return;
  }
  std::iota(order.begin(), order.end(), std::int64_t{0});
  const auto k = static_cast<std::ptrdiff_t>(out.size());
  std::partial_sort(order.begin(), order.begin() + k, order.end(), [&](std::int64_t i, std::int64_t j) {
    const T a = scores[static_cast<std::size_t>(i)], b = scores[static_cast<std::size_t>(j)];
    return a > b || (a == b && i < j);
  });
  std::copy_n(order.begin(), k, out.begin());
}

// out.size() independent draws; `cumulative` is scratch of the row's size.
template <class T>
void search_table(Generator& rng, std::span<const T> row, std::span<std::int64_t> out,
                  std::vector<T>& cumulative) {
  std::partial_sum(row.begin(), row.end(), cumulative.begin());
  const T total = cumulative.back();
  for (T& c : cumulative) c /= total;
  cumulative.back() = 1;  // so that rounding cannot leave a gap at the end
  for (std::int64_t& index : out) {
    const double u = rng.unit_double();
    const auto below = [](T c, double value) { return static_cast<double>(c) < value; };
    index = std::lower_bound(cumulative.begin(), cumulative.end(), u, below) - cumulative.begin();
  }
}

template <class T>
std::vector<std::int64_t> draw_multinomial(Generator& rng, std::span<const T> weights, std::int64_t rows,
                                           std::int64_t k, bool replacement) {
  const auto size = static_cast<std::int64_t>(weights.size());
  check(rows >= 1 && size > 0 && size % rows == 0, "multinomial", "cannot cut {} weights into {} rows", size,
        rows);
  const std::int64_t columns = size / rows;
  check(k >= 1, "multinomial", "must draw at least 1 sample, got {}", k);
  check(replacement || k <= columns, "multinomial", "cannot draw {} of {} without replacement", k, columns);

  // All rows are checked before the first word is drawn, so that an error leaves the stream where it was.
  const auto width = static_cast<std::size_t>(columns), count = static_cast<std::size_t>(k);
  const auto height = static_cast<std::size_t>(rows);
  for (std::size_t r = 0; r < height; ++r) check_weights(weights.subspan(r * width, width), r);

  std::vector<std::int64_t> result(height * count), order(replacement ? 0 : width);
  std::vector<T> scratch(width);
  for (std::size_t r = 0; r < height; ++r) {
    const std::span<const T> row = weights.subspan(r * width, width);
    const std::span<std::int64_t> out = std::span(result).subspan(r * count, count);
    replacement ? search_table(rng, row, out, scratch) : race(rng, row, out, scratch, order);
  }
  return result;
}

double normal_cdf(double x) { return (1 + std::erf(x / std::numbers::sqrt2)) / 2; }

template <class T>
void fill_trunc_normal(Generator& rng, std::span<T> out, double mean, double std, double a, double b) {
  check(std > 0, "trunc_normal", "std must be > 0, got {}", std);
  check(a <= b, "trunc_normal", "bounds must satisfy a <= b, got {} and {}", a, b);
  rng.uniform(out, 2 * normal_cdf((a - mean) / std) - 1, 2 * normal_cdf((b - mean) / std) - 1);
  const T scale = static_cast<T>(std * std::numbers::sqrt2), shift = static_cast<T>(mean);
  for (T& x : out) {
    const T z = static_cast<T>(erfinv(static_cast<double>(x))) * scale;
    x = std::clamp(z + shift, static_cast<T>(a), static_cast<T>(b));
  }
}

}  // namespace

void bernoulli(Generator& rng, std::span<float> out, double p) { fill_bernoulli(rng, out, p); }
void bernoulli(Generator& rng, std::span<double> out, double p) { fill_bernoulli(rng, out, p); }
void bernoulli(Generator& rng, std::span<const float> p, std::span<float> out) {
  fill_bernoulli(rng, p, out);
}
void bernoulli(Generator& rng, std::span<const double> p, std::span<double> out) {
  fill_bernoulli(rng, p, out);
}

void exponential(Generator& rng, std::span<float> out, double lambda) { fill_exponential(rng, out, lambda); }
void exponential(Generator& rng, std::span<double> out, double lambda) { fill_exponential(rng, out, lambda); }

std::vector<std::int64_t> multinomial(Generator& rng, std::span<const float> weights, std::int64_t rows,
                                      std::int64_t k, bool replacement) {
  return draw_multinomial(rng, weights, rows, k, replacement);
}
std::vector<std::int64_t> multinomial(Generator& rng, std::span<const double> weights, std::int64_t rows,
                                      std::int64_t k, bool replacement) {
  return draw_multinomial(rng, weights, rows, k, replacement);
}

void trunc_normal(Generator& rng, std::span<float> out, double mean, double std, double a, double b) {
  fill_trunc_normal(rng, out, mean, std, a, b);
}
void trunc_normal(Generator& rng, std::span<double> out, double mean, double std, double a, double b) {
  fill_trunc_normal(rng, out, mean, std, a, b);
}

double erfinv(double y) {
  const double size = std::abs(y);
  if (!(size < 1))
    return size == 1 ? std::copysign(std::numeric_limits<double>::infinity(), y) : std::nan("");

  constexpr double kA = 0.147;  // Winitzki's constant; the start is good to 2e-3
  const double w = std::log1p(-size * size), c = 2 / (std::numbers::pi * kA) + w / 2;
  double x = std::sqrt(std::sqrt(c * c - w / kA) - c);
  // Newton on erfc instead of erf: near 1 the complement keeps the digits that erf has lost.
  const double complement = 1 - size;
  for (int step = 0; step < 4; ++step)
    x += (std::erfc(x) - complement) * std::exp(x * x) / (2 * std::numbers::inv_sqrtpi);
  return std::copysign(x, y);
}

}  // namespace minigpt
