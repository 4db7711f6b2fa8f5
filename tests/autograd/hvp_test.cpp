#include "autograd/hvp.h"

#include <doctest/doctest.h>

#include "autograd/ops.h"
#include "tensor/error.h"

namespace minigpt::test {
namespace {

Variable leaf(std::initializer_list<double> values) {
  return Variable(Tensor::from<double>(values, {static_cast<std::int64_t>(values.size())}), true);
}

TEST_CASE("hvp: of a quadratic form, the matrix times the vector") {
  const Tensor a = Tensor::from<double>({2, 1, 1, 3}, {2, 2});
  const Variable x = leaf({0.5, -1});
  const Variable loss = sum(x * reshape(matmul(Variable(a), reshape(x, {2, 1})), {2})) * 0.5;  // x^T A x / 2
  const std::vector<Tensor> hv = hessian_vector_product(loss, {x}, {Tensor::from<double>({1, 10}, {2})});
  CHECK(hv[0].to_vector<double>() == std::vector<double>{12, 31});
  CHECK_FALSE(x.has_grad());
  loss.backward();  // the graph is still there
  CHECK(x.grad().value().to_vector<double>() == std::vector<double>{0, -2.5});
}

TEST_CASE("hvp: across several inputs; zeros where a gradient does not depend on an input") {
  const Variable x = leaf({2}), y = leaf({3}), z = leaf({4});
  const Variable loss = sum(x * x * y + z);  // H = [[2y, 2x, 0], [2x, 0, 0], [0, 0, 0]]
  const Tensor one = Tensor::from<double>({1}, {1});
  const std::vector<Tensor> hv = hessian_vector_product(loss, {x, y, z}, {one, one, one});
  CHECK(hv[0].item() == 10);
  CHECK(hv[1].item() == 4);
  CHECK(hv[2].item() == 0);
  CHECK(hessian_vector_product(sum(z * 2), {z}, {one})[0].item() ==
        0);  // linear: no second derivative at all
}

TEST_CASE("hvp: through the ops of a network, as finite differences of the gradient say") {
  const auto gradient = [](const Variable& w) {
    const Variable x(Tensor::from<double>({0.3, -1.2, 0.8, 0.1, 0.9, -0.4}, {2, 3}));
    const Variable h = gelu(layer_norm(linear(x, w, Variable()), Variable(), Variable(), 1e-5));
    return sum(softmax(h) * h);
  };
  std::vector<double> at = {0.2, -0.5, 0.7, 1.1, 0.4, -0.3, 0.6, -0.9, 0.05};
  const std::vector<double> v = {1, -1, 0.5, 0.3, -0.2, 0.8, -0.6, 0.1, 0.4};
  const auto weight = [&](double step) {
    std::vector<double> moved = at;
    for (std::size_t i = 0; i < at.size(); ++i) moved[i] += step * v[i];
    return Variable(Tensor::from(std::span<const double>(moved), {3, 3}), true);
  };
  const auto slope_at = [&](double step) {
    const Variable w = weight(step);
    gradient(w).backward();
    return w.grad().value().to_vector<double>();
  };
  const Variable w = weight(0);
  const std::vector<double> hv =
      hessian_vector_product(gradient(w), {w}, {Tensor::from(std::span<const double>(v), {3, 3})})[0]
          .to_vector<double>();
  const std::vector<double> up = slope_at(1e-5), down = slope_at(-1e-5);
  for (std::size_t i = 0; i < hv.size(); ++i)
    CHECK(hv[i] == doctest::Approx((up[i] - down[i]) / 2e-5).epsilon(1e-6));
}

TEST_CASE("hvp: errors name what does not fit") {
  const Variable x = leaf({1, 2});
  const Variable loss = sum(x * x);
  CHECK_THROWS_WITH_AS(hessian_vector_product(loss, {x}, {}),
                       "[hessian_vector_product] 1 inputs, but 0 vectors", Error);
  CHECK_THROWS_WITH_AS(hessian_vector_product(loss, {x}, {Tensor::from<double>({1}, {1})}),
                       "[hessian_vector_product] vector 0 does not have the shape and type of its input",
                       Error);
  for (const Tensor& other : {Tensor::from<float>({1, 1}, {2}), Tensor()})
    CHECK_THROWS_WITH_AS(hessian_vector_product(loss, {x}, {other}),
                         "[hessian_vector_product] vector 0 does not have the shape and type of its input",
                         Error);
  CHECK_THROWS_AS(hessian_vector_product(loss, {Variable()}, {Tensor::from<double>({1, 1}, {2})}), Error);
}

}  // namespace
}  // namespace minigpt::test
