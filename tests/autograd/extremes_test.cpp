// N-01, N-02, N-04: numbers at the ends of float32 and float64, through operations and their gradients.

#include <limits>
#include <numbers>

#include "autograd/ops.h"
#include "tests/autograd/op_testing.h"
#include "tests/tensor/row_testing.h"

namespace minigpt {
namespace {

using testing::difference;
using testing::outcome;
using testing::Outcome;

// x with gradients of `upstream`, and what the op and its backward make of it.
struct Answer {
  double value, slope;
};
Answer at(const testing::Op& op, double x, DType dtype, double upstream = 1) {
  const Outcome o = outcome(op, {testing::leaf(full({1}, x, dtype))}, full({1}, upstream, dtype));
  return {o.value.item(), o.gradients[0].item()};
}

testing::Op unary(Variable (*f)(const Variable&)) {
  return [f](const std::vector<Variable>& v) { return f(v[0]); };
}

TEST_CASE("N-02: tanh and sigmoid saturate, with gradient exactly 0, in either precision") {
  const double inf = std::numeric_limits<double>::infinity(), nan = std::nan("");
  testing::for_each_kernel_set([&] {
    for (const DType dtype : {DType::f32, DType::f64}) {
      for (const double far : {1000.0, 1e30, inf}) {
        for (const double sign : {1.0, -1.0}) {
          const Answer t = at(unary(tanh), sign * far, dtype), s = at(unary(sigmoid), sign * far, dtype);
          CHECK(t.value == sign);
          CHECK(t.slope == 0);
          CHECK(s.value == (sign > 0 ? 1 : 0));
          CHECK(s.slope == 0);
        }
      }
      for (const auto& op : {unary(tanh), unary(sigmoid)}) {
        CHECK(std::isnan(at(op, nan, dtype).value));
        CHECK(std::isnan(at(op, nan, dtype).slope));
      }
    }
  });
}

TEST_CASE("N-02: activations far from 0 are x or 0 with slope 1 or 0, alone and fused into a layer") {
  struct Kind {
    const char* name;
    Activation fused;
    testing::Op alone;
  };
  const Kind kinds[] = {
      {"gelu", Activation::gelu_erf, [](const std::vector<Variable>& v) { return gelu(v[0]); }},
      {"gelu_tanh", Activation::gelu_tanh,
       [](const std::vector<Variable>& v) { return gelu(v[0], Gelu::tanh); }},
      {"relu", Activation::relu, unary(relu)},
      {"silu", Activation::silu, unary(silu)},
  };
  testing::for_each_kernel_set([&] {
    for (const DType dtype : {DType::f32, DType::f64}) {
      const Tensor one = ones({1, 1}, dtype);
      for (const Kind& kind : kinds) {
        CAPTURE(kind.name);
        const testing::Op layer = [&](const std::vector<Variable>& v) {
          return reshape(linear_activation(reshape(v[0], {1, 1}), Variable(one), Variable(), kind.fused),
                         {1});
        };
        for (const double far : {1e4, 1e20}) {
          const double exact = full({}, far, dtype).item();  // 1e20 as a float32
          for (const testing::Op& op : {kind.alone, layer}) {
            CHECK(at(op, far, dtype).value == exact);
            CHECK(at(op, far, dtype).slope == 1);
            CHECK(at(op, -far, dtype).value == 0);
            CHECK(at(op, -far, dtype).slope == 0);
          }
        }
      }
    }
  });
}

TEST_CASE("N-01: large scores lose nothing, in either precision, and their gradients are finite") {
  testing::for_each_kernel_set([] {
    for (const DType dtype : {DType::f32, DType::f64}) {
      for (const double large : {1e8, 1e20, -1e20}) {
        CAPTURE(large);
        const Outcome o = outcome([](const auto& v) { return log_softmax(v[0]); },
                                  {testing::leaf(full({2}, large, dtype))});
        for (const int i : {0, 1})
          CHECK(o.value.at({i}) == doctest::Approx(-std::numbers::ln2).epsilon(1e-6));
        CHECK(all_finite(o.gradients[0]));
      }
      const Variable x(Tensor::from<double>({0, 500}, {1, 2}).to(dtype), true);
      const Outcome o =
          outcome([](const auto& v) { return cross_entropy(v[0], Tensor::from<std::int32_t>({0}, {1})); },
                  {x}, ones({}, dtype));
      CHECK(o.value.item() == 500);
      CHECK(difference(o.gradients[0].to(DType::f64), Tensor::from<double>({-1, 1}, {1, 2})) < 1e-12);
      const Outcome p = outcome([](const auto& v) { return softmax(v[0]); },
                                {testing::leaf(Tensor::from<double>({1e30, 0, -1e30}, {3}).to(dtype))});
      CHECK(difference(p.value.to(DType::f64), Tensor::from<double>({1, 0, 0}, {3})) == 0);
      CHECK(all_finite(p.gradients[0]));
    }
  });
}

TEST_CASE("N-01: a classifier of one class has loss 0 and gradient 0, however large its logits") {
  for (const double logit : {0.0, 1e20, -1e20}) {
    const Variable x(full({3, 1}, logit), true);
    const Outcome o =
        outcome([](const auto& v) { return cross_entropy(v[0], zeros({3}, DType::i32)); }, {x}, ones({}));
    CHECK(o.value.item() == 0);
    CHECK(difference(o.gradients[0], zeros({3, 1})) == 0);
  }
}

TEST_CASE("N-06: norms of constant rows, fused or not, stay finite whatever comes back to them") {
  testing::for_each_kernel_set([] {
    for (const DType dtype : {DType::f32, DType::f64}) {
      for (const std::int64_t width : {1, 3, 256}) {
        for (const double constant : {1234.5, 1e10, 0.0}) {
          CAPTURE(width);
          CAPTURE(constant);
          const Variable x(full({2, width}, constant, dtype), true),
              w = testing::leaf({width}, 2, dtype), b = testing::leaf({width}, 3, dtype), none;
          const Tensor dy = testing::random({2, width}, 5, dtype);
          const Outcome layer =
              outcome([](const auto& v) { return layer_norm(v[0], v[1], v[2]); }, {x, w, b}, dy);
          for (const int row : {0, 1})
            CHECK(difference(select(layer.value, 0, row).contiguous(), b.value()) == 0);
          // One number is its own mean: what is left does not depend on it.
          if (width == 1) CHECK(difference(layer.gradients[0], zeros({2, 1}, dtype)) == 0);
          const Outcome rms = outcome([](const auto& v) { return rms_norm(v[0], v[1]); }, {x, w}, dy);
          const Outcome sum = outcome(
              [](const auto& v) {
                const ResidualNorm r = residual_layer_norm(v[0], v[0], v[1], v[2], 1e-5);
                return r.normed + r.sum * 0.0;
              },
              {x, w, b}, dy);
          for (const Outcome* o : {&layer, &rms, &sum}) {
            CHECK(all_finite(o->value));
            for (const Tensor& g : o->gradients) CHECK(all_finite(g));
          }
        }
      }
    }
  });
}

}  // namespace
}  // namespace minigpt
