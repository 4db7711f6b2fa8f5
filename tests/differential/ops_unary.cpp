// Functions of single elements.
#include "autograd/ops/abs.h"
#include "autograd/ops/activation.h"
#include "autograd/ops/alias.h"
#include "autograd/ops/clamp.h"
#include "autograd/ops/cos.h"
#include "autograd/ops/erf.h"
#include "autograd/ops/exp.h"
#include "autograd/ops/gelu.h"
#include "autograd/ops/log.h"
#include "autograd/ops/neg.h"
#include "autograd/ops/pow.h"
#include "autograd/ops/relu.h"
#include "autograd/ops/sigmoid.h"
#include "autograd/ops/silu.h"
#include "autograd/ops/sin.h"
#include "autograd/ops/sqrt.h"
#include "autograd/ops/tanh.h"
#include "autograd/ops/to_dtype.h"
#include "tests/differential/plain.h"

namespace minigpt::differential {
namespace {

using Plain = Number (Tape::*)(Number);

Op simple(const char* header, const char* name, double low, double high, Variable (*library)(const Variable&),
          Plain plain) {
  return {header,
          name,
          take_any(low, high),
          [library](const Variables& x, const Attributes&) { return one(library(x[0])); },
          [plain](Tape& t, const Arrays& x, const Attributes&) {
            return one(map(x[0], [&](Number n) { return (t.*plain)(n); }));
          },
          {}};
}

Op activation() {
  return {
      "activation.h",
      "activate",
      [](Builder& b, const Op& op) {
        b.apply(op, {b.within(b.any(), -8, 8)}, {{b.draw.between(0, 5)}, {}, {}});
      },
      [](const Variables& x, const Attributes& a) {
        return one(minigpt::activate(x[0], static_cast<Activation>(a.ints[0])));
      },
      [](Tape& t, const Arrays& x, const Attributes& a) {
        return one(map(x[0], [&](Number n) { return activate(t, n, static_cast<Activation>(a.ints[0])); }));
      },
      {}};
}

Op gelu_op() {
  const auto kind = [](const Attributes& a) { return a.ints[0] ? Gelu::tanh : Gelu::erf; };
  return {"gelu.h",
          "gelu",
          [](Builder& b, const Op& op) {
            b.apply(op, {b.within(b.any(), -12, 12)}, {{b.draw.between(0, 1)}, {}, {}});
          },
          [kind](const Variables& x, const Attributes& a) { return one(gelu(x[0], kind(a))); },
          [](Tape& t, const Arrays& x, const Attributes& a) {
            const Activation f = a.ints[0] ? Activation::gelu_tanh : Activation::gelu_erf;
            return one(map(x[0], [&](Number n) { return activate(t, n, f); }));
          },
          [kind](const Variables& x, const Attributes& a) { return one(gelu_composed(x[0], kind(a))); }};
}

Op silu_op() {
  return {"silu.h",
          "silu",
          take_any(-12, 12),
          [](const Variables& x, const Attributes&) { return one(silu(x[0])); },
          [](Tape& t, const Arrays& x, const Attributes&) {
            return one(map(x[0], [&](Number n) { return activate(t, n, Activation::silu); }));
          },
          [](const Variables& x, const Attributes&) { return one(silu_composed(x[0])); }};
}

Op pow_op() {
  return {"pow.h",
          "pow",
          [](Builder& b, const Op& op) {
            const double p = b.draw.pick(std::vector<double>{0, 1, 2, 3, -1, -2, 0.5, -0.5, 1.7, -0.3});
            const bool whole = p == 0 || p == 1 || p == 2 || p == 3;
            b.apply(op, {b.within(b.any(), whole ? -5 : 0.3, 4)}, {{}, {p}, {}});
          },
          [](const Variables& x, const Attributes& a) { return one(pow(x[0], a.reals[0])); },
          [](Tape& t, const Arrays& x, const Attributes& a) {
            return one(map(x[0], [&](Number n) { return t.pow(n, a.reals[0]); }));
          },
          {}};
}

Op clamp_op() {
  return {"clamp.h",
          "clamp",
          [](Builder& b, const Op& op) {
            // On the grid, so that some values lie on the bounds.
            const double low = static_cast<double>(b.draw.between(-3, 1)) / 2;
            b.apply(op, {b.any()},
                    {{b.draw.between(0, 3)}, {low, low + static_cast<double>(b.draw.between(0, 4)) / 2}, {}});
          },
          [](const Variables& x, const Attributes& a) {
            std::optional<double> low, high;
            if (a.ints[0] != 1) low = a.reals[0];
            if (a.ints[0] != 2) high = a.reals[1];
            return one(clamp(x[0], low, high));
          },
          [](Tape& t, const Arrays& x, const Attributes& a) {
            const double *low = a.ints[0] != 1 ? &a.reals[0] : nullptr,
                         *high = a.ints[0] != 2 ? &a.reals[1] : nullptr;
            return one(map(x[0], [&](Number n) { return t.clamp(n, low, high); }));
          },
          {}};
}

// The gradient of a rectifier where y is given.
Op relu_backward_op() {
  return {"relu.h",
          "relu_backward",
          [](Builder& b, const Op& op) {
            const int dy = b.any();
            Stored y = b.stored(b.shape(dy), std::vector<double>(b.array(dy).at.size()), DType::f32);
            for (double& v : y.values)
              v = b.draw.chance(0.5) ? 0 : static_cast<double>(b.draw.between(1, 9)) / 4;
            b.apply(op, {dy}, {{}, {}, {y}});
          },
          [](const Variables& x, const Attributes& a) {
            return one(relu_backward(a.tensors[0].tensor(x[0].dtype()), x[0]));
          },
          [](Tape& t, const Arrays& x, const Attributes& a) {
            return one(filled(x[0].shape, [&](const Dims& i) {
              return at(a.tensors[0], i) > 0 ? at(x[0], i) : t.constant(0);
            }));
          },
          {}};
}

// To the other floating type and back, or to the type that it has.
Op to_dtype_op() {
  return {"to_dtype.h",
          "to_dtype",
          [](Builder& b, const Op& op) {
            b.apply(op, {b.any()}, {{b.draw.chance(0.7)}, {}, {}});
          },
          [](const Variables& x, const Attributes& a) {
            const DType own = x[0].dtype(), other = own == DType::f32 ? DType::f64 : DType::f32;
            return one(a.ints[0] ? to_dtype(to_dtype(x[0], other), own) : to_dtype(x[0], own));
          },
          [](Tape& t, const Arrays& x, const Attributes& a) {
            return one(map(x[0], [&](Number n) { return a.ints[0] ? t.through_float32(n) : n; }));
          },
          {}};
}

}  // namespace

std::vector<Op> unary_ops() {
  return {simple("abs.h", "abs", -1e3, 1e3, abs, &Tape::abs),
          activation(),
          {"alias.h",
           "alias",
           take_any(),
           [](const Variables& x, const Attributes&) { return one(alias(x[0])); },
           [](Tape&, const Arrays& x, const Attributes&) { return one(x[0]); },
           {}},
          clamp_op(),
          simple("cos.h", "cos", -30, 30, cos, &Tape::cos),
          simple("erf.h", "erf", -8, 8, erf, &Tape::erf),
          simple("exp.h", "exp", -4, 3, exp, &Tape::exp),
          gelu_op(),
          simple("log.h", "log", 0.1, 50, log, &Tape::log),
          {"neg.h",
           "neg",
           take_any(),
           [](const Variables& x, const Attributes&) { return one(neg(x[0])); },
           [](Tape& t, const Arrays& x, const Attributes&) {
             return one(map(x[0], [&](Number n) { return t.scale(n, -1); }));
           },
           {}},
          pow_op(),
          simple("relu.h", "relu", -1e3, 1e3, relu, &Tape::relu),
          relu_backward_op(),
          simple("sigmoid.h", "sigmoid", -20, 20, sigmoid, &Tape::sigmoid),
          silu_op(),
          simple("sin.h", "sin", -30, 30, sin, &Tape::sin),
          simple("sqrt.h", "sqrt", 0.05, 50, sqrt, &Tape::sqrt),
          simple("tanh.h", "tanh", -12, 12, tanh, &Tape::tanh),
          to_dtype_op()};
}

}  // namespace minigpt::differential
