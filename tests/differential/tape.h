#pragma once
// The specification's arithmetic: single numbers that remember how they were made.
//
// Everything an operation means is written once more in plain loops over these numbers (plain_*.cpp), in double, and
// the chain rule over single numbers gives the gradients. Nothing of the library is used: neither its kernels nor its
// backward formulas.
//
// Each number also carries a bound on how far the same computation in arithmetic of a given precision may be off
// (running error analysis; Higham 2002, "Accuracy and stability of numerical algorithms", section 3.3), and so does each
// gradient. The tolerance of a comparison therefore follows from the magnitudes that occur in the expression.

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace minigpt::differential {

using Number = std::int32_t;  // its place on the tape

// What the computation that the bounds are about rounds with.
struct Rounding {
  double unit = 0x1p-53;  // of every operation: 2^-24 for float32, 2^-53 for float64
  double product = 0;     // of the factors of matrix products, beyond that: 2^-8 for bfloat16
  bool is_float32() const { return unit > 1e-10; }
};

// Who of equal elements gets the gradient of their maximum.
enum class Ties { share, first };

class Tape {
 public:
  explicit Tape(Rounding rounding = {}) : rounding_(rounding) {}

  const Rounding& rounding() const { return rounding_; }
  // An exact number, without history.
  Number constant(double value) { return push(value, 0); }

  double value(Number x) const { return nodes_[index(x)].value; }
  double error(Number x) const { return nodes_[index(x)].error; }

  Number add(Number a, Number b);
  Number sub(Number a, Number b);
  Number mul(Number a, Number b);
  Number div(Number a, Number b);
  Number scale(Number x, double c);
  Number shift(Number x, double c);
  // sum_i a_i, sum_i a_i b_i. `matrix`: the factors are rounded as those of a matrix product.
  Number sum(std::span<const Number> a);
  Number dot(std::span<const Number> a, std::span<const Number> b, bool matrix = false);
  // start + dot(a, b), in either order: a sum that begins with a large number rounds every step to that size.
  Number dot_from(Number start, std::span<const Number> a, std::span<const Number> b, bool matrix);
  // y = f(x) with its first two derivatives; `scale` and `slope_scale` are the magnitudes that are rounded when y and
  // the slope are computed.
  Number function(Number x, double y, double slope, double curvature, double scale, double slope_scale);
  Number exp(Number x);
  Number log(Number x);
  Number sqrt(Number x);
  Number tanh(Number x);
  Number erf(Number x);
  Number sin(Number x);
  Number cos(Number x);
  Number sigmoid(Number x);
  Number pow(Number x, double p);
  // These have kinks: see margin() and doubtful().
  Number abs(Number x);
  Number relu(Number x);
  Number clamp(Number x, const double* low, const double* high);
  Number larger(Number a, Number b);
  Number smaller(Number a, Number b);
  Number largest(std::span<const Number> xs, Ties ties);
  // The same number as a constant: the gradients are on purpose not those of the function.
  Number detached(Number x) {
    stepped_ = true;
    return push(value(x), error(x));
  }
  // Rounded to float32 and back.
  Number through_float32(Number x);

  // The least distance from a kink at which a function was taken: what lies nearer cannot be checked by finite
  // differences. 0 for equal numbers.
  double margin() const { return margin_; }
  // True if rounding could push a number to the other side of a kink, so that a right gradient may differ wholly.
  bool doubtful() const { return doubtful_; }
  // A number that tells which branches were taken.
  std::uint64_t branches() const { return branches_; }
  // True if the slope of the function is on purpose not what the gradients say: something was rounded (the function is
  // made of steps) or detached.
  bool stepped() const { return stepped_; }

  // Gradients of sum_i seed_i x_i with respect to everything before.
  void differentiate(const std::vector<std::pair<Number, double>>& seeds);
  double gradient(Number x) const { return adjoints_[index(x)].value; }
  double gradient_error(Number x) const { return adjoints_[index(x)].error; }

 private:
  struct Node {
    double value, error;
    std::uint32_t first_edge, first_pair;  // the end is where the next node begins
    bool matrix, through_float32;
  };
  struct Edge {
    Number from;
    double slope, error;
  };
  struct Pair {
    Number a, b;
  };
  struct Adjoint {
    double value, error, magnitude;
    std::int64_t count;
  };
  static std::size_t index(Number x) { return static_cast<std::size_t>(x); }
  Number push(double value, double error);
  void edge(Number from, double slope, double error) { edges_.push_back({from, slope, error}); }
  void pass(Number to, double slope, double slope_error, const Adjoint& from);
  // Notes that a branch depended on the sign of `difference`.
  void kink(double difference, double error);
  double unit() const { return rounding_.unit; }

  Rounding rounding_;
  std::vector<Node> nodes_;
  std::vector<Edge> edges_;
  std::vector<Pair> pairs_;
  std::vector<Adjoint> adjoints_;
  double margin_ = 1e300;
  std::uint64_t branches_ = 0;
  bool doubtful_ = false;
  bool stepped_ = false;
};

}  // namespace minigpt::differential
