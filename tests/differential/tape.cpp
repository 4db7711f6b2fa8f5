#include "tests/differential/tape.h"

#include <cmath>
#include <numbers>

namespace minigpt::differential {
namespace {

// Elementary functions of the library are good to two units; this leaves room for a composition of a few.
constexpr double kFunctionUnits = 8;

// The distance of the smallest numbers in float32: what is smaller may become 0.
constexpr double kLeastFloat32 = 0x1p-149;

// Whether rounding could turn the sign of a difference. The factor is larger than that of the comparisons.
bool near(double difference, double error) { return std::abs(difference) <= 16 * error; }

bool power_of_two(double c) {
  int exponent = 0;
  return c == 0 || std::abs(std::frexp(c, &exponent)) == 0.5;
}

}  // namespace

// The edges of a node are added after it, and before the next one.
Number Tape::push(double value, double error) {
  nodes_.push_back({value, error, static_cast<std::uint32_t>(edges_.size()),
                    static_cast<std::uint32_t>(pairs_.size()), false, false});
  return static_cast<Number>(nodes_.size() - 1);
}

void Tape::kink(double difference, double error) {
  margin_ = std::min(margin_, std::abs(difference));
  branches_ = (branches_ ^ (difference > 0 ? 1 : difference < 0 ? 2 : 3)) * 0x100000001b3;
  const bool exact = difference == 0 && error == 0;
  if (!exact && near(difference, error)) doubtful_ = true;
}

Number Tape::add(Number a, Number b) {
  const double v = value(a) + value(b);
  const Number y = push(v, error(a) + error(b) + unit() * std::abs(v));
  edge(a, 1, 0);
  edge(b, 1, 0);
  return y;
}

Number Tape::sub(Number a, Number b) {
  const double v = value(a) - value(b);
  const Number y = push(v, error(a) + error(b) + unit() * std::abs(v));
  edge(a, 1, 0);
  edge(b, -1, 0);
  return y;
}

Number Tape::mul(Number a, Number b) {
  const double p = value(a), q = value(b), dp = error(a), dq = error(b);
  const Number y = push(p * q, std::abs(p) * dq + std::abs(q) * dp + dp * dq + unit() * std::abs(p * q));
  edge(a, q, dq);
  edge(b, p, dp);
  return y;
}

Number Tape::div(Number a, Number b) {
  const double p = value(a), q = value(b), v = p / q;
  const double room = std::max(std::abs(q) - error(b), 0.01 * std::abs(q));
  const double dv = (error(a) + std::abs(v) * error(b)) / room + unit() * std::abs(v);
  const Number y = push(v, dv);
  edge(a, 1 / q, error(b) / (room * std::abs(q)) + unit() / std::abs(q));
  edge(b, -v / q, (dv + std::abs(v / q) * error(b)) / room + 3 * unit() * std::abs(v / q));
  return y;
}

Number Tape::scale(Number x, double c) {
  const double v = value(x) * c;
  const double rounded = power_of_two(c) ? 0 : 2 * unit() * std::abs(v);
  const Number y = push(v, std::abs(c) * error(x) + rounded);
  edge(x, c, power_of_two(c) ? 0 : unit() * std::abs(c));
  return y;
}

Number Tape::shift(Number x, double c) {
  const double v = value(x) + c;
  const Number y = push(v, error(x) + unit() * (std::abs(v) + std::abs(c)));
  edge(x, 1, 0);
  return y;
}

Number Tape::sum(std::span<const Number> a) {
  double v = 0, size = 0, e = 0;
  for (Number x : a) {
    v += value(x);
    size += std::abs(value(x));
    e += error(x);
  }
  const double steps = a.size() < 2 ? 0 : static_cast<double>(a.size());
  const Number y = push(v, e + steps * unit() * size);
  for (Number x : a) edge(x, 1, 0);
  return y;
}

Number Tape::dot(std::span<const Number> a, std::span<const Number> b, bool matrix) {
  double v = 0, size = 0, e = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double p = value(a[i]), q = value(b[i]), dp = error(a[i]), dq = error(b[i]);
    v += p * q;
    size += std::abs(p * q);
    e += std::abs(p) * dq + std::abs(q) * dp + dp * dq;
  }
  const double each = (static_cast<double>(a.size()) + 1) * unit() + (matrix ? rounding_.product : 0);
  const Number y = push(v, e + each * size);
  nodes_.back().matrix = matrix;
  for (std::size_t i = 0; i < a.size(); ++i) pairs_.push_back({a[i], b[i]});
  return y;
}

Number Tape::dot_from(Number start, std::span<const Number> a, std::span<const Number> b, bool matrix) {
  const double v = value(start);
  const Number y = dot(a, b, matrix);
  Node& node = nodes_.back();
  node.value += v;
  node.error += error(start) + (static_cast<double>(a.size()) + 1) * unit() * std::abs(v);
  edge(start, 1, 0);
  return y;
}

Number Tape::function(Number x, double y, double slope, double curvature, double scale, double slope_scale) {
  const double e = error(x), u = kFunctionUnits * unit();
  const Number n = push(y, std::abs(slope) * e + std::abs(curvature) * e * e + u * scale);
  edge(x, slope, std::abs(curvature) * e + u * slope_scale);
  return n;
}

Number Tape::exp(Number x) {
  const double y = std::exp(value(x));
  return function(x, y, y, y, y, y);
}
Number Tape::log(Number x) {
  const double v = value(x), y = std::log(v);
  return function(x, y, 1 / v, 1 / (v * v), std::abs(y), std::abs(1 / v));
}
Number Tape::sqrt(Number x) {
  const double v = value(x), y = std::sqrt(v);
  return function(x, y, 0.5 / y, 0.25 / (y * v), y, 0.5 / y);
}
Number Tape::tanh(Number x) {
  const double y = std::tanh(value(x)), slope = 1 - y * y;
  return function(x, y, slope, 2 * y * slope, std::abs(y), 1);
}
Number Tape::erf(Number x) {
  const double v = value(x), y = std::erf(v), slope = 2 * std::numbers::inv_sqrtpi * std::exp(-v * v);
  return function(x, y, slope, 2 * v * slope, std::abs(y), slope * (1 + v * v));
}
Number Tape::sin(Number x) {
  const double v = value(x);
  return function(x, std::sin(v), std::cos(v), 1, 1, 1);
}
Number Tape::cos(Number x) {
  const double v = value(x);
  return function(x, std::cos(v), -std::sin(v), 1, 1, 1);
}
Number Tape::sigmoid(Number x) {
  const double y = 1 / (1 + std::exp(-value(x))), slope = y * (1 - y);
  return function(x, y, slope, slope, y, y);
}
Number Tape::pow(Number x, double p) {
  const double v = value(x), y = p == 0 ? 1 : std::pow(v, p);
  const double slope = p == 0 ? 0 : p * std::pow(v, p - 1);
  // The largest curvature that rounding can reach: that of x^3 at 0 itself is 0.
  const double at = p > 2 ? std::abs(v) + error(x) : v;
  const double curvature = p == 0 || p == 1 ? 0 : p * (p - 1) * std::pow(at, p - 2);
  return function(x, y, slope, curvature, std::abs(y), std::abs(slope));
}

Number Tape::abs(Number x) {
  const double v = value(x), slope = v > 0 ? 1 : v < 0 ? -1 : 0;
  kink(v, error(x));
  const Number y = push(std::abs(v), error(x));
  edge(x, slope, 0);
  return y;
}

Number Tape::relu(Number x) {
  const double v = value(x);
  kink(v, error(x));
  const bool on = v > 0;
  const Number y = push(on ? v : 0, on || near(v, error(x)) ? error(x) : 0);
  if (on) edge(x, 1, 0);
  return y;
}

Number Tape::clamp(Number x, const double* low, const double* high) {
  double v = value(x);
  bool inside = true;
  if (low) {
    kink(v - *low, error(x));
    inside = inside && v >= *low;
    v = std::max(v, *low);
  }
  if (high) {
    kink(value(x) - *high, error(x));
    inside = inside && value(x) <= *high;
    v = std::min(v, *high);
  }
  // A bound that is no float32 is rounded to one.
  const bool own = inside || near(value(x) - v, error(x));
  const Number y = push(v, (own ? error(x) : 0) + (inside ? 0 : unit() * std::abs(v)));
  if (inside) edge(x, 1, 0);
  return y;
}

Number Tape::larger(Number a, Number b) {
  const double p = value(a), q = value(b);
  if (a != b) kink(p - q, error(a) + error(b));
  const Number y = push(std::max(p, q), std::max(error(a), error(b)));
  if (p >= q) edge(a, p == q ? 0.5 : 1, 0);
  if (q >= p) edge(b, p == q ? 0.5 : 1, 0);
  return y;
}

Number Tape::smaller(Number a, Number b) {
  const double p = value(a), q = value(b);
  if (a != b) kink(p - q, error(a) + error(b));
  const Number y = push(std::min(p, q), std::max(error(a), error(b)));
  if (p <= q) edge(a, p == q ? 0.5 : 1, 0);
  if (q <= p) edge(b, p == q ? 0.5 : 1, 0);
  return y;
}

Number Tape::largest(std::span<const Number> xs, Ties ties) {
  Number best = xs[0];
  for (Number x : xs)
    if (value(x) > value(best)) best = x;
  double count = 0, worst = 0;
  for (Number x : xs) {
    const double both = error(best) + error(x), behind = value(best) - value(x);
    if (x != best) kink(behind, both);
    if (near(behind, both)) worst = std::max(worst, error(x));
    count += behind == 0;
  }
  const double v = value(best);
  const Number y = push(v, worst);
  for (Number x : xs) {
    if (value(x) != v) continue;
    edge(x, ties == Ties::share ? 1 / count : 1, ties == Ties::share ? unit() : 0);
    if (ties == Ties::first) break;
  }
  return y;
}

Number Tape::through_float32(Number x) {
  const double v = value(x), y = rounding_.is_float32() ? v : static_cast<double>(static_cast<float>(v));
  stepped_ = stepped_ || !rounding_.is_float32();
  // A value that is rounded one way here may be rounded the other way there.
  const Number n = push(y, error(x) + (rounding_.is_float32() ? 0 : 0x1p-23 * std::abs(v) + kLeastFloat32));
  nodes_.back().through_float32 = !rounding_.is_float32();
  edge(x, 1, rounding_.is_float32() ? 0 : 0x1p-24);
  return n;
}

// Adds slope * (gradient of the result) to an operand.
void Tape::pass(Number to, double slope, double slope_error, const Adjoint& from) {
  Adjoint& a = adjoints_[index(to)];
  const double share = slope * from.value;
  a.value += share;
  a.magnitude += std::abs(share);
  a.error += std::abs(slope) * from.error + std::abs(from.value) * slope_error + slope_error * from.error;
  ++a.count;
}

void Tape::differentiate(const std::vector<std::pair<Number, double>>& seeds) {
  adjoints_.assign(nodes_.size(), {0, 0, 0, 0});
  for (const auto& [x, seed] : seeds) {
    Adjoint& a = adjoints_[index(x)];
    a.value += seed;
    a.magnitude += std::abs(seed);
    ++a.count;
  }
  std::size_t edge_end = edges_.size(), pair_end = pairs_.size();
  for (std::size_t i = nodes_.size(); i-- > 0;) {
    const Node& node = nodes_[i];
    Adjoint& a = adjoints_[i];
    if (a.count > 0) {
      a.error += (static_cast<double>(a.count) + 2) * unit() * a.magnitude;
      if (node.through_float32) a.error += kLeastFloat32;  // so does the gradient
      for (std::size_t k = node.first_edge; k < edge_end; ++k)
        pass(edges_[k].from, edges_[k].slope, edges_[k].error, a);
      const double product = node.matrix ? rounding_.product : 0;
      for (std::size_t k = node.first_pair; k < pair_end; ++k) {
        const Node &p = nodes_[index(pairs_[k].a)], &q = nodes_[index(pairs_[k].b)];
        pass(pairs_[k].a, q.value, q.error + product * std::abs(q.value), a);
        pass(pairs_[k].b, p.value, p.error + product * std::abs(p.value), a);
      }
    }
    edge_end = node.first_edge;
    pair_end = node.first_pair;
  }
}

}  // namespace minigpt::differential
