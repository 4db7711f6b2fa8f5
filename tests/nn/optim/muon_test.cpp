#include "nn/optim/muon.h"

#include <doctest/doctest.h>

#include <cmath>
#include <memory>

#include "tensor/arithmetic.h"
#include "tensor/matmul.h"
#include "tensor/views.h"
#include "tests/autograd/op_testing.h"

namespace minigpt {
namespace {

using testing::difference;
using testing::random;

// --- The same in plain loops -----------------------------------------------------------------------

using Rows = std::vector<std::vector<double>>;

Rows rows_of(const Tensor& x) {
  const std::vector<double> flat = x.to(DType::f64).to_vector<double>();
  Rows rows(static_cast<std::size_t>(x.dim(0)));
  const auto n = static_cast<std::size_t>(x.dim(1));
  for (std::size_t i = 0; i < rows.size(); ++i)
    for (std::size_t j = 0; j < n; ++j) rows[i].push_back(flat[i * n + j]);
  return rows;
}

Rows times(const Rows& a, const Rows& b) {
  Rows c(a.size(), std::vector<double>(b[0].size()));
  for (std::size_t i = 0; i < a.size(); ++i)
    for (std::size_t j = 0; j < b[0].size(); ++j)
      for (std::size_t p = 0; p < b.size(); ++p) c[i][j] += a[i][p] * b[p][j];
  return c;
}

Rows flipped(const Rows& a) {
  Rows t(a[0].size(), std::vector<double>(a.size()));
  for (std::size_t i = 0; i < a.size(); ++i)
    for (std::size_t j = 0; j < a[0].size(); ++j) t[j][i] = a[i][j];
  return t;
}

Rows plain_orthogonalise(Rows x) {
  double norm = 0;
  for (const auto& row : x)
    for (const double v : row) norm += v * v;
  for (auto& row : x)
    for (double& v : row) v /= std::sqrt(norm);
  for (int k = 0; k < 5; ++k) {
    // X (X^T X) = (X X^T) X, so neither shape needs a transpose here.
    const Rows cubed = times(times(x, flipped(x)), x), fifth = times(times(x, flipped(x)), cubed);
    for (std::size_t i = 0; i < x.size(); ++i)
      for (std::size_t j = 0; j < x[0].size(); ++j)
        x[i][j] = 3.4445 * x[i][j] - 4.7750 * cubed[i][j] + 2.0315 * fifth[i][j];
  }
  return x;
}

double distance(const Rows& a, const Rows& b) {
  double worst = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    for (std::size_t j = 0; j < a[0].size(); ++j) worst = std::max(worst, std::abs(a[i][j] - b[i][j]));
  return worst;
}

NamedParameter named(const std::string& name, Tensor value) {
  return {name, Variable(std::move(value), true), {}};
}

// ---------------------------------------------------------------------------------------------------

TEST_CASE("orthogonalise: wide, tall and square agree with plain loops, in both types") {
  for (const Shape& shape : {Shape{5, 5}, Shape{3, 8}, Shape{9, 4}, Shape{1, 6}}) {
    CAPTURE(shape.str());
    const Tensor x = random(shape, 1);
    CHECK(distance(rows_of(orthogonalise(x)), plain_orthogonalise(rows_of(x))) < 1e-12);
    CHECK(distance(rows_of(orthogonalise(x.to(DType::f32))), plain_orthogonalise(rows_of(x))) < 1e-4);
  }
}

TEST_CASE("orthogonalise: directions of very different size come out nearly equal; zeros stay zeros") {
  const Tensor x = Tensor::from<double>({100, 0, 0, 0, 0, 1}, {2, 3});
  const Rows y = rows_of(orthogonalise(x));
  CHECK(y[0][0] > 0.6);
  CHECK(y[0][0] < 1.3);
  CHECK(y[1][2] > 0.6);
  CHECK(y[1][2] < 1.3);
  CHECK(difference(orthogonalise(zeros({3, 2})), zeros({3, 2})) == 0);
  CHECK_THROWS_AS(orthogonalise(zeros({3})), Error);
}

void check_three_steps(std::int64_t M, std::int64_t N) {
  const double lr = 0.1, decay = 0.5, momentum = 0.9, scale = 0.3, clip = 0.7;
  const auto rows = static_cast<std::size_t>(M), columns = static_cast<std::size_t>(N);
  const NamedParameter w = named("w", random({M, N}, 1)), b = named("b", random({4}, 2));
  const NamedParameter b_alone = named("b", b.variable.value().clone());
  Muon muon({{{w}, lr, decay}}, {{{b}, lr, decay}}, {momentum, scale}, {});
  Adam adam({{{b_alone}, lr, decay}});
  Rows expected = rows_of(w.variable.value()), v(rows, std::vector<double>(columns));
  for (std::uint64_t t = 0; t < 3; ++t) {
    const Tensor g = random({M, N}, 10 + t), g_b = random({4}, 20 + t);
    Variable(w.variable).set_grad(Variable(g));
    Variable(b.variable).set_grad(Variable(g_b));
    Variable(b_alone.variable).set_grad(Variable(g_b));
    muon.step(clip);
    adam.step(clip);
    const Rows gradient = rows_of(g);
    Rows u = v;
    for (std::size_t i = 0; i < rows; ++i)
      for (std::size_t j = 0; j < columns; ++j) {
        v[i][j] = momentum * v[i][j] + clip * gradient[i][j];
        u[i][j] = clip * gradient[i][j] + momentum * v[i][j];
      }
    const Rows direction = plain_orthogonalise(u);
    const double longest = std::sqrt(static_cast<double>(std::max(M, N)));
    for (std::size_t i = 0; i < rows; ++i)
      for (std::size_t j = 0; j < columns; ++j)
        expected[i][j] = expected[i][j] * (1 - lr * decay) - lr * scale * longest * direction[i][j];
  }
  CHECK(distance(rows_of(w.variable.value()), expected) < 1e-12);
  CHECK(difference(b.variable.value(), b_alone.variable.value()) == 0);
}

TEST_CASE("muon: three steps agree with the formula, and the rest is AdamW, bit for bit") {
  check_three_steps(4, 6);
  check_three_steps(7, 3);
}

TEST_CASE("muon: saved under named tensors, and taken back to the same bits") {
  const auto make = [](const NamedParameter& w, const NamedParameter& e) {
    return std::make_unique<Muon>(std::vector<ParameterGroup>{{{w}, 0.1, 0.1}},
                                  std::vector<ParameterGroup>{{{e}, 0.1, 0}}, MuonOptions{}, AdamOptions{});
  };
  const auto step = [](Optimizer& o, const NamedParameter& w, const NamedParameter& e, std::uint64_t seed) {
    Variable(w.variable).set_grad(Variable(random({3, 2}, seed, DType::f32)));
    Variable(e.variable).set_grad(Variable(random({5, 2}, seed + 1, DType::f32)));
    o.step();
  };
  const NamedParameter w = named("w", random({3, 2}, 1, DType::f32)),
                       e = named("e", random({5, 2}, 2, DType::f32));
  const auto first = make(w, e);
  step(*first, w, e, 5);
  std::vector<std::string> names;
  for (const NamedTensor& t : first->state()) names.push_back(t.name);
  CHECK(names == std::vector<std::string>{"momentum.w", "exp_avg.e", "exp_avg_sq.e", "steps"});

  const NamedParameter w2 = named("w", w.variable.value().clone()),
                       e2 = named("e", e.variable.value().clone());
  const auto second = make(w2, e2);
  second->load_state(first->state());
  for (std::uint64_t seed : {7, 9}) {
    step(*first, w, e, seed);
    step(*second, w2, e2, seed);
  }
  CHECK(w.variable.value().to_vector<float>() == w2.variable.value().to_vector<float>());
  CHECK(e.variable.value().to_vector<float>() == e2.variable.value().to_vector<float>());
}

TEST_CASE("orthogonalise: the size of a matrix does not matter, however small") {
  const Tensor x = random({3, 5}, 4);
  for (const double size : {1e-12, 1e-6, 1e6})
    CHECK(distance(rows_of(orthogonalise(mul(x, size))), rows_of(orthogonalise(x))) < 1e-10);
}

TEST_CASE("muon: vectors are not matrices, and options have their ranges") {
  const NamedParameter b = named("b", zeros({3}));
  CHECK_THROWS_WITH_AS(Muon({{{b}, 0.1, 0}}, {}, {}, {}), "[muon] b is not a matrix: (3)", Error);
  const double nan = std::nan(""), inf = HUGE_VAL;
  for (const double momentum : {-0.1, 1.0, nan})
    CHECK_THROWS_WITH_AS(Muon({}, {{{b}, 0.1, 0}}, {momentum, 0.2}, {}),
                         doctest::Contains("momentum must be"), Error);
  for (const double scale : {-1.0, 0.0, nan, inf})
    CHECK_THROWS_WITH_AS(Muon({}, {{{b}, 0.1, 0}}, {0.9, scale}, {}), doctest::Contains("scale must be"),
                         Error);
}

}  // namespace
}  // namespace minigpt
