#include "tensor/optimizer_kernels.h"

#include <doctest/doctest.h>

#include <cmath>

#include "tensor/parallel.h"
#include "tests/tensor/row_testing.h"

using namespace minigpt;
using namespace minigpt::testing;

namespace {

// The update of one element, in PyTorch's order. lerp-like sums are fused there as here.
template <class T>
void plain_step(T& w, T g, T& m, T& v, const AdamStep& s) {
  const auto t = [](double x) { return static_cast<T>(x); };
  g *= t(s.grad_scale);
  if (s.decoupled)
    w *= t(1 - s.lr * s.weight_decay);
  else
    g = std::fma(w, t(s.weight_decay), g);
  m = std::fma(g, t(1 - s.beta1), m * t(s.beta1));
  v = std::fma(t(1 - s.beta2) * g, g, v * t(s.beta2));
  const T denominator = std::sqrt(v) / t(std::sqrt(s.bias_correction2)) + t(s.eps);
  w += t(-(s.lr / s.bias_correction1)) * m / denominator;
}

template <class T>
void check_steps(bool decoupled, double tolerance) {
  for (const std::int64_t n : row_lengths()) {
    CAPTURE(n);
    Tensor w = random_tensor<T>({n}, 1), m = zeros({n}, dtype_of<T>), v = zeros({n}, dtype_of<T>);
    std::vector<T> w_plain = w.to_vector<T>(), m_plain = m.to_vector<T>(), v_plain = v.to_vector<T>();
    for (int t = 1; t <= 3; ++t) {
      AdamStep step;
      step.lr = 0.02;
      step.weight_decay = 0.1;
      step.bias_correction1 = 1 - std::pow(step.beta1, t);
      step.bias_correction2 = 1 - std::pow(step.beta2, t);
      step.grad_scale = t == 2 ? 0.3 : 1;
      step.decoupled = decoupled;
      const Tensor g = random_tensor<T>({n}, 10 + static_cast<unsigned>(t));
      adamw_step(w.mutable_data<T>(), g.data<T>(), m.mutable_data<T>(), v.mutable_data<T>(), n, step);
      for (std::size_t i = 0; i < w_plain.size(); ++i)
        plain_step(w_plain[i], g.data<T>()[i], m_plain[i], v_plain[i], step);
    }
    const auto expect = [&](const Tensor& actual, const std::vector<T>& plain) {
      // With fused instructions the order of operations is pinned down to the last bit.
      if (std::string(kernel_set().name) != "scalar") CHECK(actual.to_vector<T>() == plain);
      CHECK(worst_error(values(actual), values(Tensor::from<T>(std::span<const T>(plain), {n}))) < tolerance);
    };
    expect(w, w_plain);
    expect(m, m_plain);
    expect(v, v_plain);
  }
}

}  // namespace

TEST_CASE("Adam and AdamW equal the plain update for every length") {
  for_each_kernel_set([] {
    for (const bool decoupled : {true, false}) {
      CAPTURE(decoupled);
      check_steps<double>(decoupled, 1e-15);
      check_steps<float>(decoupled, 3e-7);
    }
  });
}

TEST_CASE("AdamW gives PyTorch's parameters: default settings, one weight, two steps") {
  // torch.optim.AdamW(lr=0.022) on a small regression; gradients and parameters as PyTorch 1.13 recorded them.
  double w = 0.319, m = 0, v = 0;
  const double gradients[] = {-0.09524953443499998, -0.06526602111755811};
  const double expected[] = {0.3409298176902777, 0.3622700771398919};
  AdamStep step;
  step.lr = 0.022;
  step.weight_decay = 0.01;
  for (int t = 1; t <= 2; ++t) {
    step.bias_correction1 = 1 - std::pow(0.9, t);
    step.bias_correction2 = 1 - std::pow(0.999, t);
    adamw_step(&w, &gradients[t - 1], &m, &v, 1, step);
    CHECK(w == doctest::Approx(expected[t - 1]).epsilon(1e-15));
  }
}

TEST_CASE("without a gradient AdamW shrinks the weight, and without decay it leaves it alone") {
  for (const double decay : {0.0, 0.1}) {
    float w = 2, m = 0, v = 0;
    const float g = 0;
    AdamStep step;
    step.lr = 0.5;
    step.weight_decay = decay;
    step.bias_correction1 = 0.1;
    step.bias_correction2 = 0.001;
    adamw_step(&w, &g, &m, &v, 1, step);
    CHECK(w == doctest::Approx(2 * (1 - 0.5 * decay)));
  }
}

TEST_CASE("the number of threads does not change a bit") {
  const Tensor g = random_tensor<float>({70000}, 1);
  for_each_kernel_set([&] {
    check_threads_do_not_matter([&] {
      Tensor w = random_tensor<float>({70000}, 2), m = zeros({70000}), v = zeros({70000});
      adamw_step(w.mutable_data<float>(), g.data<float>(), m.mutable_data<float>(), v.mutable_data<float>(),
                 70000, AdamStep{});
      return std::vector<Tensor>{w, m, v};
    });
  });
}

TEST_CASE_TEMPLATE("adamw_steps: many parameters together change as each would alone", T, float, double) {
  const std::int64_t sizes[] = {5, 0, 40000, 1, 17000, 300};
  AdamStep step;
  step.bias_correction1 = 0.1;
  step.bias_correction2 = 0.001;
  std::vector<std::vector<Tensor>> alone, together;  // w, g, m, v of each parameter
  for (auto* set : {&alone, &together})
    for (const std::int64_t n : sizes)
      set->push_back({random_tensor<T>({n}, 1), random_tensor<T>({n}, 2), zeros({n}, dtype_of<T>),
                      zeros({n}, dtype_of<T>)});
  const auto task = [&](std::vector<Tensor>& p, double lr) {
    AdamTask<T> t{p[0].template mutable_data<T>(),
                  p[1].template data<T>(),
                  p[2].template mutable_data<T>(),
                  p[3].template mutable_data<T>(),
                  p[0].numel(),
                  step};
    t.step.lr = lr;  // parameters may have rates of their own
    return t;
  };
  std::vector<AdamTask<T>> tasks;
  for (std::size_t i = 0; i < alone.size(); ++i) {
    const double lr = 0.01 * static_cast<double>(i + 1);
    const AdamTask<T> t = task(alone[i], lr);
    adamw_step(t.w, t.g, t.m, t.v, t.n, t.step);
    tasks.push_back(task(together[i], lr));
  }
  const ScopedNumThreads threads(3);
  const ScopedForceGrainOne grain;
  adamw_steps<T>(tasks);
  for (std::size_t i = 0; i < alone.size(); ++i)
    for (const std::size_t part : {0, 2, 3})
      CHECK(alone[i][part].template to_vector<T>() == together[i][part].template to_vector<T>());
}
