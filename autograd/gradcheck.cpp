#include "autograd/gradcheck.h"

#include <algorithm>
#include <cmath>

#include "autograd/engine.h"
#include "autograd/ops/concat.h"
#include "autograd/ops/reshape.h"

namespace minigpt {
namespace {

// w_i = cos(i + 1) in the shape and type of `like`.
Tensor fixed_weights(const Tensor& like) {
  std::vector<double> w(static_cast<std::size_t>(like.numel()));
  for (std::size_t i = 0; i < w.size(); ++i) w[i] = std::cos(static_cast<double>(i) + 1);
  return Tensor::from<double>(w, like.shape()).to(like.dtype());
}

std::vector<double> as_doubles(const Tensor& x) { return x.to(DType::f64).to_vector<double>(); }

// One element of a tensor, moved for as long as this lives. It writes past the version counter: the old
// number is put back before anybody reads what was saved.
class Moved {
 public:
  Moved(const Tensor& x, std::int64_t element) : x_(x), at_(x.offset()) {
    for (int axis = x.rank() - 1; axis >= 0; --axis) {
      at_ += element % x.dim(axis) * x.strides()[axis];
      element /= x.dim(axis);
    }
    before_ = read();
  }
  ~Moved() { write(before_); }
  Moved(const Moved&) = delete;
  Moved& operator=(const Moved&) = delete;

  // Sets it to its old value + distance, and returns what that is after rounding to the type.
  double set(double distance) {
    write(before_ + distance);
    return read();
  }

 private:
  template <class T>
  T* place() const {
    return reinterpret_cast<T*>(x_.storage().data()) + at_;
  }
  double read() const { return x_.dtype() == DType::f64 ? *place<double>() : *place<float>(); }
  void write(double value) const {
    if (x_.dtype() == DType::f64)
      *place<double>() = value;
    else
      *place<float>() = static_cast<float>(value);
  }

  const Tensor x_;
  std::int64_t at_;
  double before_;
};

void check_input(const Tensor& x, std::size_t i, const GradcheckOptions& options) {
  check(x.dtype() == DType::f64 || options.allow_float32, "gradcheck",
        "input {} is float32, too coarse for finite differences: use float64, or "
        "GradcheckOptions::float32() for a rough check",
        i);
  for (int axis = 0; axis < x.rank(); ++axis)
    check(x.dim(axis) <= 1 || x.strides()[axis] != 0, "gradcheck",
          "elements of input {} share memory along axis {} (expand), so none can be moved alone; clone it", i,
          axis);
}

// |analytic - numeric| in units of what is allowed; infinite if one of them is not a finite number.
double excess(double analytic, double numeric, double tolerance) {
  const double error = std::abs(analytic - numeric);
  if (!std::isfinite(error)) return HUGE_VAL;
  return error == 0 ? 0 : error / tolerance;
}

}  // namespace

GradcheckOptions GradcheckOptions::float32() {
  // Slope error about eps^2 / 6 + 1e-7 / eps: near its least, some 1e-5 of the largest output, at eps = 4e-3.
  return {.eps = 4e-3, .atol = 1e-3, .rtol = 1e-2, .max_elements_per_input = 0, .allow_float32 = true};
}

std::string GradcheckResult::str() const {
  if (input < 0) return fmt::format("gradcheck passed: nothing to compare");
  return fmt::format(
      "gradcheck {}: {}{}{}, element {}: analytic {:.10g}, numeric {:.10g}, differ by {:.3g} {} {:.3g}",
      ok ? fmt::format("passed for {} elements, at worst", checked) : "failed",
      fmt::format("input {}", input), name.empty() ? "" : " (" + name, name.empty() ? "" : ")", element,
      analytic, numeric, std::abs(analytic - numeric), ok ? "<=" : ">", tolerance);
}

GradcheckResult gradcheck(const GradcheckFunction& f, const std::vector<Variable>& inputs,
                          const GradcheckOptions& options) {
  const detail::Recording on(true);
  std::vector<Variable> wanted;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].defined() || !inputs[i].requires_grad()) continue;
    check_input(inputs[i].value(), i, options);
    wanted.push_back(inputs[i]);
  }
  check(!wanted.empty(), "gradcheck", "none of the {} inputs requires a gradient", inputs.size());

  const Variable y = f(inputs);
  const Tensor w = fixed_weights(y.value());
  const std::vector<double> weights = as_doubles(w), before = as_doubles(y.value());
  check(
      as_doubles(f(inputs).value()) == before || before != before, "gradcheck",
      "two calls with the same inputs gave different results; fix what is drawn at random (a dropout mask)");

  std::vector<Variable> analytic(wanted.size());
  if (y.requires_grad()) {  // else the function claims to be constant
    GradOptions backward;
    backward.gradients = {Variable(w)};
    backward.allow_unused = true;
    analytic = grad({y}, wanted, backward);
  }

  // Differences are taken element by element before they are added up, so that large outputs do not drown
  // small ones.
  const auto slope = [&](const Tensor& x, std::int64_t element) {
    Moved moved(x, element);
    const double high = moved.set(options.eps);
    const std::vector<double> above = as_doubles(f(inputs).value());
    const double low = moved.set(-options.eps);
    const std::vector<double> below = as_doubles(f(inputs).value());
    double sum = 0;
    for (std::size_t i = 0; i < weights.size(); ++i) sum += weights[i] * (above[i] - below[i]);
    return sum / (high - low);
  };

  GradcheckResult result;
  double worst = -1;
  std::size_t next = 0;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].defined() || !inputs[i].requires_grad()) continue;
    const Tensor& x = inputs[i].value();
    const Variable& dx = analytic[next++];
    const std::vector<double> exact =
        dx.defined() ? as_doubles(dx.value()) : std::vector<double>(static_cast<std::size_t>(x.numel()));
    double largest = 0;
    for (double value : exact) largest = std::max(largest, std::abs(value));
    const double tolerance = options.atol + options.rtol * largest;

    const std::int64_t n = x.numel();
    const std::int64_t count =
        options.max_elements_per_input > 0 ? std::min(n, options.max_elements_per_input) : n;
    for (std::int64_t k = 0; k < count; ++k) {
      const std::int64_t element = k * n / count;
      const double a = exact[static_cast<std::size_t>(element)], numeric = slope(x, element);
      ++result.checked;
      if (const double e = excess(a, numeric, tolerance); e > worst) {
        worst = e;
        result.input = static_cast<int>(i);
        result.name = inputs[i].name();
        result.element = element;
        result.analytic = a;
        result.numeric = numeric;
        result.tolerance = tolerance;
      }
    }
  }
  result.ok = worst <= 1;
  return result;
}

GradcheckResult gradgradcheck(const GradcheckFunction& f, const std::vector<Variable>& inputs,
                              const GradcheckOptions& options) {
  const detail::Recording on(true);
  // Other weights than those of gradcheck: with v = w, a wrong sign could show up twice and cancel.
  const Tensor like = f(inputs).value();
  std::vector<double> v(static_cast<std::size_t>(like.numel()));
  for (std::size_t i = 0; i < v.size(); ++i) v[i] = std::sin(2 * static_cast<double>(i) + 1);
  std::vector<Variable> all = inputs;
  all.emplace_back(Tensor::from<double>(v, like.shape()).to(like.dtype()), true);

  const auto gradients = [&f](const std::vector<Variable>& args) {
    const std::vector<Variable> xs(args.begin(), args.end() - 1);
    std::vector<Variable> wanted;
    for (const Variable& x : xs)
      if (x.defined() && x.requires_grad()) wanted.push_back(x);
    GradOptions backward;
    backward.gradients = {args.back()};
    backward.create_graph = true;
    backward.allow_unused = true;
    std::vector<Variable> flat;
    for (const Variable& dx : grad({f(xs)}, wanted, backward))
      if (dx.defined()) flat.push_back(reshape(dx, {-1}));
    return concat(flat);
  };
  return gradcheck(gradients, all, options);
}

}  // namespace minigpt
