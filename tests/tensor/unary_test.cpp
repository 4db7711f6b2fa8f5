#include "tensor/unary.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "tests/tensor/layouts.h"
#include "tests/tensor/row_testing.h"

using namespace minigpt;
using namespace minigpt::testing;

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

double plain_sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double plain_gelu(double x) { return x * 0.5 * std::erfc(-x / std::numbers::sqrt2); }
double plain_gelu_tanh(double x) {
  const double u = std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x);
  return x * 0.5 * (1 + std::tanh(u));
}

// The derivative of a smooth function of one number, to about 1e-9.
template <class Fn>
double slope(Fn f, double x) {
  const double h = 1e-4;
  return (8 * (f(x + h) - f(x - h)) - (f(x + 2 * h) - f(x - 2 * h))) / (12 * h);
}

struct Function {
  const char* name;
  Tensor (*tensor)(const Tensor&);
  double (*plain)(double);
  bool positive;  // defined for x > 0 only
};
const std::vector<Function> kFunctions = {
    {"exp", [](const Tensor& x) { return exp(x); }, [](double x) { return std::exp(x); }, false},
    {"log", [](const Tensor& x) { return log(x); }, [](double x) { return std::log(x); }, true},
    {"tanh", [](const Tensor& x) { return tanh(x); }, [](double x) { return std::tanh(x); }, false},
    {"erf", [](const Tensor& x) { return erf(x); }, [](double x) { return std::erf(x); }, false},
    {"sin", [](const Tensor& x) { return sin(x); }, [](double x) { return std::sin(x); }, false},
    {"cos", [](const Tensor& x) { return cos(x); }, [](double x) { return std::cos(x); }, false},
    {"sqrt", [](const Tensor& x) { return sqrt(x); }, [](double x) { return std::sqrt(x); }, true},
    {"rsqrt", [](const Tensor& x) { return rsqrt(x); }, [](double x) { return 1 / std::sqrt(x); }, true},
    {"reciprocal", [](const Tensor& x) { return reciprocal(x); }, [](double x) { return 1 / x; }, true},
    {"neg", [](const Tensor& x) { return -x; }, [](double x) { return -x; }, false},
    {"abs", [](const Tensor& x) { return abs(x); }, [](double x) { return std::abs(x); }, false},
    {"sigmoid", [](const Tensor& x) { return sigmoid(x); }, plain_sigmoid, false},
    {"relu", [](const Tensor& x) { return relu(x); }, [](double x) { return x > 0 ? x : 0; }, false},
    {"silu", [](const Tensor& x) { return silu(x); }, [](double x) { return x * plain_sigmoid(x); }, false},
    {"gelu", [](const Tensor& x) { return gelu(x); }, plain_gelu, false},
    {"gelu tanh", [](const Tensor& x) { return gelu(x, Gelu::tanh); }, plain_gelu_tanh, false},
    {"pow 1.5", [](const Tensor& x) { return pow(x, 1.5); }, [](double x) { return std::pow(x, 1.5); }, true},
    {"pow 3", [](const Tensor& x) { return pow(x, 3); }, [](double x) { return x * x * x; }, false},
    {"pow -2", [](const Tensor& x) { return pow(x, -2); }, [](double x) { return 1 / (x * x); }, true},
};

template <class T>
double error_on_layouts(const Function& f) {
  Tensor x = random_tensor<T>({3, 4, 11}, 1, 1.5);
  if (f.positive) x = abs(x);
  double worst = 0;
  for (const Tensor& window : layouts(x)) {
    std::vector<double> expected;
    for (double v : values(window)) expected.push_back(f.plain(v));
    const Tensor y = f.tensor(window);
    if (!(y.shape() == x.shape()) || y.dtype() != x.dtype()) return kInf;
    worst = std::max(worst, worst_error(values(y), expected));
  }
  return worst;
}

}  // namespace

TEST_CASE("every function agrees with the C library, in every layout and on every kernel set") {
  for_each_kernel_set([] {
    for (const Function& f : kFunctions) {
      CAPTURE(f.name);
      CHECK(error_on_layouts<float>(f) < 1e-6);
      CHECK(error_on_layouts<double>(f) < 1e-14);
    }
  });
}

TEST_CASE("no function needs elements") {
  for (const Function& f : kFunctions) CHECK(f.tensor(zeros({0, 3})).shape() == Shape{0, 3});
}

TEST_CASE("powers of PyTorch's short list are exact") {
  const Tensor x = Tensor::from({-3.f, 0.5f, 1.1f, 0.f}, {4});
  using Floats = std::vector<float>;
  CHECK(pow(x, 0).to_vector<float>() == Floats{1, 1, 1, 1});
  CHECK(pow(full({2}, kNaN), 0).to_vector<float>() == Floats{1, 1});
  CHECK(pow(x, 1).to_vector<float>() == Floats{-3, 0.5, 1.1f, 0});
  CHECK(pow(x, 2).to_vector<float>() == Floats{9, 0.25, 1.1f * 1.1f, 0});
  CHECK(pow(x, 3).to_vector<float>() == Floats{-27, 0.125, 1.1f * 1.1f * 1.1f, 0});
  CHECK(pow(x, -1).to_vector<float>() == Floats{1 / -3.f, 2, 1 / 1.1f, HUGE_VALF});
  CHECK(pow(x, -2).to_vector<float>() == Floats{1 / 9.f, 4, 1 / (1.1f * 1.1f), HUGE_VALF});
  CHECK(pow(abs(x), 0.5).to_vector<float>() == Floats{std::sqrt(3.f), std::sqrt(0.5f), std::sqrt(1.1f), 0});
  CHECK(pow(abs(x), -0.5).to_vector<float>() ==
        Floats{1 / std::sqrt(3.f), 1 / std::sqrt(0.5f), 1 / std::sqrt(1.1f), HUGE_VALF});
  CHECK(std::isnan(pow(x, 1.5).at({0})));
}

TEST_CASE("pow by 1 gives a copy, not another window") {
  const Tensor x = ones({2});
  Tensor y = pow(x, 1);
  y.fill_(5);
  CHECK(x.at({0}) == 1);
}

TEST_CASE("NaN passes through, and the ends of the line are what they should be") {
  for_each_kernel_set([] {
    for (const Function& f : kFunctions) {
      CAPTURE(f.name);
      CHECK(std::isnan(f.tensor(full({1}, kNaN)).item()));
    }
    const Tensor ends = Tensor::from({-kInf, kInf}, {2});
    CHECK(exp(ends).to_vector<double>() == std::vector<double>{0, kInf});
    CHECK(tanh(ends).to_vector<double>() == std::vector<double>{-1, 1});
    CHECK(erf(ends).to_vector<double>() == std::vector<double>{-1, 1});
    CHECK(sigmoid(ends).to_vector<double>() == std::vector<double>{0, 1});
    CHECK(relu(ends).to_vector<double>() == std::vector<double>{0, kInf});
    CHECK(log(Tensor::from({0.0, kInf}, {2})).to_vector<double>() == std::vector<double>{-kInf, kInf});
    CHECK(std::isnan(log(full({1}, -1)).item()));
    CHECK(std::isnan(sqrt(full({1}, -1)).item()));
  });
}

TEST_CASE("neg, abs and relu know int32") {
  constexpr std::int32_t kLowest = std::numeric_limits<std::int32_t>::min();
  const Tensor x = Tensor::from<std::int32_t>({-3, 0, 5, kLowest}, {4});
  using Ints = std::vector<std::int32_t>;
  CHECK(neg(x).to_vector<std::int32_t>() == Ints{3, 0, -5, kLowest});
  CHECK(abs(x).to_vector<std::int32_t>() == Ints{3, 0, 5, kLowest});
  CHECK(relu(x).to_vector<std::int32_t>() == Ints{0, 0, 5, 0});
}

TEST_CASE("gradients are slopes times the upstream gradient") {
  for_each_kernel_set([] {
    const Tensor x = random_tensor<double>({2, 9}, 2, 2), dy = random_tensor<double>({2, 9}, 3);
    const auto wrong = [&](auto backward, auto plain) {
      double worst = 0;
      for (const Tensor& x_window : layouts(x))
        for (const Tensor& dy_window : layouts(dy)) {
          const Tensor dx = backward(x_window, dy_window);
          for_each_index(x.shape(), [&](const Dims& i) {
            worst = std::max(worst, std::abs(dx.at(i) - dy.at(i) * slope(plain, x.at(i))));
          });
        }
      return worst;
    };
    CHECK(wrong([](const Tensor& a, const Tensor& b) { return silu_backward(a, b); },
                [](double v) { return v * plain_sigmoid(v); }) < 1e-8);
    CHECK(wrong([](const Tensor& a, const Tensor& b) { return gelu_backward(a, b); }, plain_gelu) < 1e-8);
    CHECK(wrong([](const Tensor& a, const Tensor& b) { return gelu_backward(a, b, Gelu::tanh); },
                plain_gelu_tanh) < 1e-8);
    CHECK(wrong([](const Tensor& a, const Tensor& b) { return relu_backward(a, b); },
                [](double v) { return v > 0 ? v : 0; }) < 1e-8);
    CHECK(relu_backward(zeros({1}), ones({1})).item() == 0);
  });
}

TEST_CASE("errors name the operation, the rule and both values") {
  CHECK(error_of([] { exp(arange(3)); }) == "[exp] needs float32 or float64, got int32");
  CHECK(error_of([] { sin(arange(3)); }) == "[sin] needs float32 or float64, got int32");
  CHECK(error_of([] { neg(zeros({3}, DType::boolean)); }) == "[neg] needs float32 or float64, got bool");
  CHECK(error_of([] { pow(arange(3), 2); }) == "[pow] needs float32 or float64, got int32");
  CHECK(error_of([] { gelu_backward(zeros({2}), zeros({3})); }) ==
        "[gelu_backward] shapes of x and dy differ: (2) and (3)");
  CHECK(error_of([] { silu_backward(zeros({2}), zeros({2}, DType::f64)); }) ==
        "[silu_backward] dtypes differ: float32 and float64");
}

TEST_CASE("the number of threads does not change a bit") {
  for_each_kernel_set([] {
    const Tensor x = random_tensor<float>({5, 67}, 4), dy = random_tensor<float>({5, 67}, 5);
    check_threads_do_not_matter([&] {
      std::vector<Tensor> results = {relu_backward(x, dy), silu_backward(x, dy), gelu_backward(x, dy),
                                     gelu_backward(x, dy, Gelu::tanh)};
      for (const Function& f : kFunctions) results.push_back(f.tensor(x));
      return results;
    });
  });
}
