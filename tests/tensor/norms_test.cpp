#include "tensor/norms.h"

#include <doctest/doctest.h>

#include <cmath>

#include "tensor/views.h"
#include "tests/tensor/row_testing.h"

using namespace minigpt;
using namespace minigpt::testing;

namespace {

using Numbers = std::vector<double>;

struct Plain {
  Numbers y, dx, dweight, dbias;
};

// Both normalisations and their gradients from the formulas in norms.h. An empty w or b stands for none.
Plain plain_norm(bool centered, const Numbers& x, const Numbers& w, const Numbers& b, const Numbers& dy,
                 std::size_t n, double eps) {
  Plain out{Numbers(x.size()), Numbers(x.size()), Numbers(n), Numbers(n)};
  const double size = static_cast<double>(n);
  for (std::size_t row = 0; row < x.size(); row += n) {
    long double mean = 0, square = 0, mean_g = 0, mean_gh = 0;
    if (centered)
      for (std::size_t i = 0; i < n; ++i) mean += x[row + i] / size;
    for (std::size_t i = 0; i < n; ++i) square += (x[row + i] - mean) * (x[row + i] - mean) / size;
    const long double scale = 1 / std::sqrt(square + eps);
    const auto h = [&](std::size_t i) { return (x[row + i] - mean) * scale; };
    const auto g = [&](std::size_t i) { return dy[row + i] * (w.empty() ? 1 : w[i]); };
    for (std::size_t i = 0; i < n; ++i) {
      mean_g += g(i) / size;
      mean_gh += g(i) * h(i) / size;
    }
    for (std::size_t i = 0; i < n; ++i) {
      out.y[row + i] = static_cast<double>(h(i) * (w.empty() ? 1 : w[i]) + (b.empty() ? 0 : b[i]));
      out.dx[row + i] = static_cast<double>(scale * (g(i) - (centered ? mean_g : 0) - h(i) * mean_gh));
      out.dweight[i] += static_cast<double>(dy[row + i] * h(i));
      out.dbias[i] += dy[row + i];
    }
  }
  return out;
}

template <class T>
void check_lengths(double tolerance) {
  constexpr double kEps = 1e-5;
  for (const std::int64_t n : row_lengths())
    for (const bool affine : {true, false}) {
      CAPTURE(n);
      CAPTURE(affine);
      const Tensor x = random_tensor<T>({2, 2, n}, 1), dy = random_tensor<T>({2, 2, n}, 2);
      const Tensor w = affine ? random_tensor<T>({n}, 3) : Tensor();
      const Tensor b = affine ? random_tensor<T>({n}, 4) : Tensor();
      const Numbers w_numbers = affine ? values(w) : Numbers(), b_numbers = affine ? values(b) : Numbers();
      const std::size_t size = static_cast<std::size_t>(n);

      const Plain layer = plain_norm(true, values(x), w_numbers, b_numbers, values(dy), size, kEps);
      const LayerNormOutput out = layer_norm(x, w, b, kEps);
      const LayerNormGradients grads = layer_norm_backward(x, out.mean, out.rstd, w, dy);
      CHECK(out.mean.shape() == Shape{2, 2});
      CHECK(worst_error(values(out.y), layer.y) < tolerance);
      // Two numbers may lie close together: then rstd is large, and rounding errors are multiplied by it.
      CHECK(worst_error(values(grads.dx), layer.dx) < (n == 2 ? 100 : 1) * tolerance);
      CHECK(worst_error(values(grads.dweight), layer.dweight) < tolerance);
      CHECK(worst_error(values(grads.dbias), layer.dbias) < tolerance);

      const Plain rms = plain_norm(false, values(x), w_numbers, {}, values(dy), size, kEps);
      const RmsNormOutput root = rms_norm(x, w, kEps);
      const RmsNormGradients root_grads = rms_norm_backward(x, root.rrms, w, dy);
      CHECK(worst_error(values(root.y), rms.y) < tolerance);
      CHECK(worst_error(values(root_grads.dx), rms.dx) < 10 * tolerance);
      CHECK(worst_error(values(root_grads.dweight), rms.dweight) < tolerance);
    }
}

}  // namespace

TEST_CASE("layer_norm and rms_norm equal the plain formulas for every row length") {
  for_each_kernel_set([] {
    check_lengths<double>(1e-13);
    check_lengths<float>(5e-6);
  });
}

TEST_CASE("layer_norm by hand: {1, 3} has mean 2 and variance 1") {
  const LayerNormOutput out =
      layer_norm(Tensor::from<double>({1, 3}, {1, 2}), Tensor::from<double>({10, 10}, {2}),
                 Tensor::from<double>({5, 5}, {2}), 0);
  CHECK(values(out.y) == Numbers{-5, 15});
  CHECK(values(out.mean) == Numbers{2});
  CHECK(values(out.rstd) == Numbers{1});
}

TEST_CASE("rms_norm by hand: {1, 7} has a root mean square of 5") {
  const RmsNormOutput out = rms_norm(Tensor::from<double>({1, 7}, {2}), Tensor(), 0);
  CHECK(out.y.at({0}) == doctest::Approx(0.2));
  CHECK(out.y.at({1}) == doctest::Approx(1.4));
  CHECK(out.rrms.item() == doctest::Approx(0.2));
}

TEST_CASE("a row of equal numbers gives exactly the bias and a finite gradient") {
  for_each_kernel_set([] {
    for (const double value : {0.0, 1234.5, 1e10, 0.1, -1e10 / 3})
      for (const std::int64_t n : {1, 7, 256, 1100})
        for (const DType type : {DType::f32, DType::f64}) {
          CAPTURE(value);
          CAPTURE(n);
          const Tensor x = full({3, n}, value, type);
          const Tensor w = random_tensor<double>({n}, 5).to(type), b = random_tensor<double>({n}, 6).to(type);
          const LayerNormOutput out = layer_norm(x, w, b, 1e-5);
          for (int row = 0; row < 3; ++row) CHECK(values(select(out.y, 0, row)) == values(b));
          const Tensor dy = random_tensor<double>({3, n}, 7).to(type);
          const LayerNormGradients grads = layer_norm_backward(x, out.mean, out.rstd, w, dy);
          for (const double d : values(grads.dx)) CHECK((n == 1 ? d == 0 : std::isfinite(d)));
          for (const double d : values(grads.dweight)) CHECK(d == 0);
        }
  });
}

TEST_CASE("a large offset costs layer_norm no accuracy: the variance is taken about the mean") {
  const Tensor x = Tensor::from<float>({4096.25f, 4096.75f, 4096.25f, 4096.75f}, {4});
  for (const double y : values(layer_norm(x, Tensor(), Tensor(), 0).y))
    CHECK(std::abs(y) == doctest::Approx(1));
}

TEST_CASE("NaN stays in its row") {
  Tensor x = random_tensor<float>({3, 20}, 8);
  select(select(x, 0, 1), 0, 13).fill_(std::nan(""));
  const Tensor y = layer_norm(x, Tensor(), Tensor(), 1e-5).y;
  for (const double v : values(select(y, 0, 1))) CHECK(std::isnan(v));
  for (const int row : {0, 2})
    for (const double v : values(select(y, 0, row))) CHECK(std::isfinite(v));
}

TEST_CASE("the number of threads does not change a bit, nor does the layout") {
  const Tensor x = random_tensor<float>({150, 4, 37}, 9), dy = random_tensor<float>({150, 4, 37}, 10);
  const Tensor w = random_tensor<float>({37}, 11), b = random_tensor<float>({37}, 12);
  for_each_kernel_set([&] {
    check_threads_do_not_matter([&] {
      const LayerNormOutput y = layer_norm(x, w, b, 1e-5);
      const LayerNormGradients dx = layer_norm_backward(x, y.mean, y.rstd, w, dy);
      const RmsNormOutput z = rms_norm(x, w, 1e-5);
      const RmsNormGradients dz = rms_norm_backward(x, z.rrms, w, dy);
      return std::vector<Tensor>{y.y,      y.mean, y.rstd, dx.dx, dx.dweight,
                                 dx.dbias, z.y,    z.rrms, dz.dx, dz.dweight};
    });
  });
  const Tensor turned = transpose(transpose(x, 0, 1).contiguous(), 0, 1);
  CHECK(bitwise_equal(layer_norm(turned, w, b, 1e-5).y, layer_norm(x, w, b, 1e-5).y));
}

TEST_CASE("no rows: gradients of the parameters are zero") {
  const Tensor x = zeros({0, 4}), w = ones({4});
  const LayerNormOutput out = layer_norm(x, w, Tensor(), 1e-5);
  CHECK(out.y.shape() == Shape{0, 4});
  CHECK(values(layer_norm_backward(x, out.mean, out.rstd, w, x).dweight) == Numbers(4, 0.0));
}

TEST_CASE("unusable operands are refused") {
  const Tensor x = zeros({2, 3});
  CHECK_THROWS_WITH_AS(layer_norm(x, ones({4}), Tensor(), 1e-5), "[layer_norm] weight must be (3), got (4)",
                       Error);
  CHECK_THROWS_WITH_AS(layer_norm(x, Tensor(), ones({3}, DType::f64), 1e-5),
                       "[layer_norm] types of x and bias differ: float32 and float64", Error);
  CHECK_THROWS_WITH_AS(rms_norm(x, Tensor(), -1), "[rms_norm] eps must be at least 0, got -1", Error);
  CHECK_THROWS_WITH_AS(rms_norm_backward(x, zeros({3}), Tensor(), x),
                       "[rms_norm_backward] rrms must be (2), got (3)", Error);
}
