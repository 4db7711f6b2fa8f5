// Linear, Embedding, norms, activations, Dropout, Mlp, CausalSelfAttention and Block: shapes, modes and gradients.

#include <doctest/doctest.h>

#include <cmath>
#include <set>

#include "nn/block.h"
#include "nn/embedding.h"
#include "tensor/views.h"
#include "tests/nn/layer_testing.h"

namespace minigpt {
namespace {

using testing::check_layer_gradients;
using testing::difference;
using testing::random;

std::vector<std::string> names_of(const std::vector<NamedParameter>& parameters) {
  std::vector<std::string> names;
  for (const NamedParameter& p : parameters) names.push_back(p.name);
  return names;
}

TEST_CASE("Linear: y = x W^T + b, for any leading axes; the bias may be absent") {
  Generator rng(1);
  Linear layer(2, 3, true, rng);
  layer.weight.mutable_value().copy_(Tensor::from<float>({1, 2, 3, 4, 5, 6}, {3, 2}));
  layer.bias.mutable_value().copy_(Tensor::from<float>({10, 20, 30}, {3}));
  const Variable y = layer.forward(Variable(Tensor::from<float>({1, 1, 1, -1}, {1, 2, 2})));
  CHECK(y.shape() == Shape{1, 2, 3});
  CHECK(y.value().to_vector<float>() == std::vector<float>{13, 27, 41, 9, 19, 29});
  CHECK(layer.forward(Variable(ones({2}))).shape() == Shape{3});

  Linear plain(2, 3, false, rng);
  CHECK_FALSE(plain.bias.defined());
  CHECK(names_of(named_parameters(plain)) == std::vector<std::string>{"weight"});
  CHECK(plain.forward(Variable(zeros({4, 2}))).value().to_vector<float>() == std::vector<float>(12, 0));
  CHECK_THROWS_AS(layer.forward(Variable(ones({5, 3}))), Error);
}

TEST_CASE("Embedding: rows by index, in the shape of the indices") {
  Generator rng(1);
  Embedding table(4, 2, rng);
  table.weight.mutable_value().copy_(Tensor::from<float>({0, 1, 10, 11, 20, 21, 30, 31}, {4, 2}));
  const Variable y = table.forward(Tensor::from<std::int32_t>({3, 0, 3}, {1, 3}));
  CHECK(y.shape() == Shape{1, 3, 2});
  CHECK(y.value().to_vector<float>() == std::vector<float>{30, 31, 0, 1, 30, 31});
  CHECK_THROWS_WITH_AS(table.forward(Tensor::from<std::int32_t>({0, 4}, {2})), doctest::Contains("4"), Error);
  CHECK_THROWS_WITH_AS(table.forward(Tensor::from<std::int32_t>({-1}, {1})), doctest::Contains("-1"), Error);
}

TEST_CASE("Norm: one of two, its parameters under its own name") {
  const auto parameters = [](Norm norm) { return names_of(named_parameters(norm)); };
  CHECK(parameters(Norm(NormKind::layer, 4, true, true)) == std::vector<std::string>{"weight", "bias"});
  CHECK(parameters(Norm(NormKind::layer, 4, true, false)) == std::vector<std::string>{"weight"});
  CHECK(parameters(Norm(NormKind::layer, 4, false, true)).empty());
  CHECK(parameters(Norm(NormKind::rms, 4, true, true)) == std::vector<std::string>{"weight"});
  CHECK(parameters(Norm(NormKind::rms, 4, false, false)).empty());

  // Rows 1 2 3 and 2 4 6: LayerNorm makes the same of both, RMSNorm keeps the mean.
  const Variable x(Tensor::from<double>({1, 2, 3, 2, 4, 6}, {2, 3}));
  Norm centred(NormKind::layer, 3, false, false), plain(NormKind::rms, 3, false, false);
  const std::vector<double> a = centred.forward(x).value().to_vector<double>(),
                            b = plain.forward(x).value().to_vector<double>();
  for (int row = 0; row < 2; ++row) {
    CHECK(a[static_cast<std::size_t>(3 * row)] == doctest::Approx(-std::sqrt(1.5)).epsilon(1e-4));
    CHECK(a[static_cast<std::size_t>(3 * row + 1)] == doctest::Approx(0).epsilon(1e-12));
    CHECK(b[static_cast<std::size_t>(3 * row)] == doctest::Approx(1 / std::sqrt(14.0 / 3)).epsilon(1e-4));
  }
}

TEST_CASE("activations: what each name stands for, at -1 and 2") {
  const Variable x(Tensor::from<double>({-1, 2}, {2}));
  const auto f = [&](Activation kind) { return activate(x, kind).value().to_vector<double>(); };
  const auto phi = [](double v) { return 0.5 * (1 + std::erf(v / std::sqrt(2.0))); };
  const auto same = [](const std::vector<double>& a, double first, double second) {
    CHECK(a[0] == doctest::Approx(first).epsilon(1e-12));
    CHECK(a[1] == doctest::Approx(second).epsilon(1e-12));
  };
  same(f(Activation::gelu_erf), -phi(-1), 2 * phi(2));
  same(f(Activation::relu), 0, 2);
  same(f(Activation::relu_squared), 0, 4);
  same(f(Activation::silu), -1 / (1 + std::exp(1.0)), 2 / (1 + std::exp(-2.0)));
  const double tanh_form = f(Activation::gelu_tanh)[1], exact = 2 * phi(2);
  CHECK(tanh_form != doctest::Approx(exact).epsilon(1e-6));
  CHECK(tanh_form == doctest::Approx(exact).epsilon(1e-3));
  CHECK(GELU().forward(x).value().to_vector<double>() == f(Activation::gelu_erf));
  CHECK(ReLU().forward(x).value().to_vector<double>() == f(Activation::relu));
  CHECK(SiLU().forward(x).value().to_vector<double>() == f(Activation::silu));
}

TEST_CASE("Dropout: only in training; kept values are scaled by 1/(1 - p)") {
  const Dropout layer(0.2);
  const Variable x(full({10000}, 2));
  CHECK(layer.forward(x, Mode{}).is(x));  // evaluation: nothing at all happens
  DropoutStream masks = DropoutStream::counter(1);
  Mode training;
  training.training = true;
  training.dropout = &masks;
  const std::vector<float> y = layer.forward(x, training).value().to_vector<float>();
  CHECK(std::set<float>(y.begin(), y.end()) == std::set<float>{0.0f, 2.5f});
  const auto kept = static_cast<double>(std::count(y.begin(), y.end(), 2.5f));
  CHECK(std::abs(kept / 10000 - 0.8) < 0.02);
  CHECK(layer.forward(x, training).value().to_vector<float>() != y);  // another call, another mask

  CHECK(Dropout(0).forward(x, training).is(x));
  for (const double bad : {-0.1, 1.1, std::nan("")}) CHECK_THROWS_AS(Dropout{bad}, Error);
  training.dropout = nullptr;
  CHECK_THROWS_WITH_AS(layer.forward(x, training), doctest::Contains("needs a DropoutStream"), Error);
  CHECK(Dropout(0).forward(x, training).is(x));
}

TEST_CASE("Mlp: shape and gradients, for every activation and without biases") {
  Generator rng(2);
  for (const bool bias : {true, false}) {
    for (const Activation kind : {Activation::gelu_erf, Activation::gelu_tanh, Activation::relu,
                                  Activation::relu_squared, Activation::silu}) {
      Mlp mlp(3, bias, 0.0, kind, rng);
      CHECK(mlp.c_fc.weight.shape() == Shape{12, 3});
      CHECK(mlp.c_proj.weight.shape() == Shape{3, 12});
      CHECK(mlp.c_fc.bias.defined() == bias);
      check_layer_gradients(mlp, {2, 2, 3}, [&](const Variable& x) { return mlp.forward(x, Mode{}); });
    }
  }
}

TEST_CASE("CausalSelfAttention: shape and gradients") {
  Generator rng(3);
  for (const bool bias : {true, false}) {
    CausalSelfAttention attention(6, 2, bias, 0.0, rng);
    CHECK(attention.forward(Variable(zeros({2, 5, 6})), Mode{}).shape() == Shape{2, 5, 6});
    CHECK(attention.c_attn.bias.defined() == bias);
    check_layer_gradients(attention, {2, 3, 6},
                          [&](const Variable& x) { return attention.forward(x, Mode{}); });
  }
  CHECK_THROWS_WITH_AS(CausalSelfAttention(100, 12, true, 0.0, rng),
                       doctest::Contains("100 channels cannot be split into 12 heads"), Error);
  CHECK_THROWS_AS(CausalSelfAttention(8, 0, true, 0.0, rng), Error);
}

TEST_CASE("Block: names, shape and gradients, with either norm") {
  Generator rng(4);
  for (const NormKind norm : {NormKind::layer, NormKind::rms}) {
    BlockOptions options;
    options.n_embd = 4;
    options.n_head = 2;
    options.norm = norm;
    Block block(options, rng);
    const std::vector<std::string> names = names_of(named_parameters(block));
    CHECK(names.front() == "ln_1.weight");
    CHECK(names.back() == "mlp.c_proj.bias");
    CHECK(names.size() == (norm == NormKind::layer ? 12u : 10u));
    check_layer_gradients(block, {2, 3, 4}, [&](const Variable& x) { return block.forward(x, Mode{}); });
  }
}

TEST_CASE("Block: dropout, only in training, in its three places; gradients see the same masks") {
  Generator rng(5);
  BlockOptions options;
  options.n_embd = 4;
  options.n_head = 2;
  options.dropout = 0.4;
  Block block(options, rng);
  convert_parameters(block, DType::f64);
  const Tensor x = random({2, 3, 4}, 6);
  DropoutStream masks = DropoutStream::counter(9);
  Mode training;
  training.training = true;
  training.dropout = &masks;
  const auto run = [&](std::uint64_t step) {
    masks.begin(step);
    return block.forward(Variable(x), training).value();
  };
  CHECK(difference(run(1), run(1)) == 0);
  CHECK(difference(run(1), run(2)) > 0.01);
  const Tensor plain = block.forward(Variable(x), Mode{}).value();
  CHECK(difference(plain, block.forward(Variable(x), Mode{}).value()) == 0);
  CHECK(difference(plain, run(1)) > 0.01);
  // Each place alone changes the result.
  for (double* p : {&block.attn.attn_dropout.p, &block.attn.resid_dropout.p, &block.mlp.dropout.p}) {
    for (Dropout* d : {&block.attn.attn_dropout, &block.attn.resid_dropout, &block.mlp.dropout}) d->p = 0;
    CHECK(difference(run(1), plain) == 0);
    *p = 0.4;
    CHECK(difference(run(1), plain) > 0.001);
    check_layer_gradients(block, {2, 3, 4}, [&](const Variable& v) {
      masks.begin(1);
      return block.forward(v, training);
    });
  }
}

}  // namespace
}  // namespace minigpt
