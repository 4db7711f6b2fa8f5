#include "autograd/ops/gelu.h"

#include "tests/autograd/gradient_testing.h"

namespace minigpt {
namespace {

TEST_CASE("gelu: both forms") {
  const Variable x = leaf({4});
  check_values(gelu(x), x, [](double v) { return 0.5 * v * (1 + std::erf(v / std::sqrt(2.0))); });
  check_values(gelu(x, Gelu::tanh), x, [](double v) {
    return 0.5 * v * (1 + std::tanh(std::sqrt(2 / 3.14159265358979323846) * (v + 0.044715 * v * v * v)));
  });
  for (Gelu kind : {Gelu::erf, Gelu::tanh}) {
    check_elementwise([kind](const Variable& v) { return gelu(v, kind); });
    check_elementwise([kind](const Variable& v) { return gelu(v, kind); }, -6, 6);
  }
}

TEST_CASE("gelu: forward and backward use the same formula (N-08)") {
  // The tanh form has other slopes than the erf form; these are its own.
  const Variable x(Tensor::from<double>({3, -3, 15, -15}, {4}), true);
  const std::vector<double> slope = gradient_of(gelu(x, Gelu::tanh), x);
  CHECK(slope[0] == doctest::Approx(1.011584).epsilon(1e-6));
  CHECK(std::abs(slope[1] + 0.011584) < 1e-6);
  CHECK(slope[2] == 1);
  CHECK(std::abs(slope[3]) < 1e-100);
}

TEST_CASE("gelu: finite differences from -20 to 20 (N-08)") {
  for (Gelu kind : {Gelu::erf, Gelu::tanh}) {
    std::vector<double> grid;
    for (double v = -20; v <= 20; v += 0.5) grid.push_back(v);
    const Variable x(Tensor::from<double>(grid, {static_cast<std::int64_t>(grid.size())}), true);
    const GradcheckResult r = gradcheck([kind](const auto& in) { return gelu(in[0], kind); }, {x});
    CHECK_MESSAGE(r.ok, r.str());
    CHECK(r.checked == 81);
  }
}

TEST_CASE("gelu: slopes agree with differences of fourth order to 1e-8, from -20 to 20 (N-08)") {
  for (Gelu kind : {Gelu::erf, Gelu::tanh}) {
    const auto at = [kind](double v) { return gelu(Variable(Tensor::scalar(v)), kind).item(); };
    for (double v = -20; v <= 20; v += 0.125) {
      CAPTURE(v);
      const Variable x(Tensor::scalar(v), true);
      const double h = 1e-3;
      const double slope = (8 * (at(v + h) - at(v - h)) - (at(v + 2 * h) - at(v - 2 * h))) / (12 * h);
      CHECK(std::abs(gradient_of(gelu(x, kind), x)[0] - slope) < 1e-8);
    }
  }
}

TEST_CASE("gelu: far from 0 it is the identity or 0, without overflow") {
  for (Gelu kind : {Gelu::erf, Gelu::tanh}) {
    const Variable x(Tensor::from<double>({1e4, -1e4, 1e20, -1e20}, {4}), true);
    CHECK(values(gelu(x, kind)) == std::vector<double>{1e4, 0, 1e20, 0});
    CHECK(gradient_of(gelu(x, kind), x) == std::vector<double>{1, 0, 1, 0});
  }
}

TEST_CASE("gelu: the kernels agree with the composition") {
  for (Gelu kind : {Gelu::erf, Gelu::tanh}) {
    const Variable x = leaf({3, 5}, -4, 4);
    const std::vector<double> fused = values(gelu(x, kind)), composed = values(gelu_composed(x, kind));
    const std::vector<double> d_fused = gradient_of(gelu(x, kind), x);
    const std::vector<double> d_composed = gradient_of(gelu_composed(x, kind), x);
    for (std::size_t i = 0; i < fused.size(); ++i) {
      CHECK(fused[i] == doctest::Approx(composed[i]).epsilon(1e-11));
      CHECK(d_fused[i] == doctest::Approx(d_composed[i]).epsilon(1e-11));
    }
  }
}

}  // namespace
}  // namespace minigpt
