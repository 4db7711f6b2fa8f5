// Arithmetic on two tensors, or on a tensor and a number.
#include "autograd/ops/add.h"
#include "autograd/ops/div.h"
#include "autograd/ops/maximum.h"
#include "autograd/ops/minimum.h"
#include "autograd/ops/mul.h"
#include "autograd/ops/sub.h"
#include "tests/differential/plain.h"

namespace minigpt::differential {
namespace {

using Plain = Number (Tape::*)(Number, Number);

Op broadcast(const char* header, const char* name, Variable (*library)(const Variable&, const Variable&),
             Plain plain) {
  return {header,
          name,
          [](Builder& b, const Op& op) {
            const int x = b.any();
            const int y = b.draw.chance(0.07) ? x : b.broadcasting_with(x);
            if (b.draw.chance(0.5))
              b.apply(op, {x, y});
            else
              b.apply(op, {y, x});
          },
          [library](const Variables& x, const Attributes&) { return one(library(x[0], x[1])); },
          [plain](Tape& t, const Arrays& x, const Attributes&) {
            return one(zip(x[0], x[1], [&](Number p, Number q) { return (t.*plain)(p, q); }));
          },
          {}};
}

// With a number; the table calls these by the function and a second word.
Op scalar(const char* header, const char* name, double low, double high,
          Variable (*library)(const Variable&, double), Number (*plain)(Tape&, Number, double)) {
  return {header,
          name,
          [low, high](Builder& b, const Op& op) {
            double c = b.draw.pick(std::vector<double>{0, 1, -1, 0.5, 2, 1e-3, 0.3, -1.7, 3.14159});
            if (c == 0 && std::string_view(op.name) == "div scalar") c = 0.25;
            b.apply(op, {b.within(b.any(), low, high)}, {{}, {c}, {}});
          },
          [library](const Variables& x, const Attributes& a) { return one(library(x[0], a.reals[0])); },
          [plain](Tape& t, const Arrays& x, const Attributes& a) {
            return one(map(x[0], [&](Number n) { return plain(t, n, a.reals[0]); }));
          },
          {}};
}

Op quotient() {
  Op op = broadcast("div.h", "div", div, &Tape::div);
  op.propose = [](Builder& b, const Op& self) {
    const int x = b.any();
    const int y = b.within(b.draw.chance(0.07) ? x : b.broadcasting_with(x), 0.3, 4);
    b.apply(self, {x, y});
  };
  return op;
}

}  // namespace

std::vector<Op> binary_ops() {
  return {
      broadcast("add.h", "add", add, &Tape::add),
      scalar("add.h", "add scalar", -1e3, 1e3, add,
             [](Tape& t, Number x, double c) { return t.shift(x, c); }),
      broadcast("sub.h", "sub", sub, &Tape::sub),
      scalar("sub.h", "sub scalar", -1e3, 1e3, sub,
             [](Tape& t, Number x, double c) { return t.shift(x, -c); }),
      scalar(
          "sub.h", "sub from", -1e3, 1e3, [](const Variable& x, double c) { return sub(c, x); },
          [](Tape& t, Number x, double c) { return t.shift(t.scale(x, -1), c); }),
      broadcast("mul.h", "mul", mul, &Tape::mul),
      scalar("mul.h", "mul scalar", -1e3, 1e3, mul,
             [](Tape& t, Number x, double c) { return t.scale(x, c); }),
      quotient(),
      scalar("div.h", "div scalar", -1e3, 1e3, div,
             [](Tape& t, Number x, double c) { return t.scale(x, 1 / c); }),
      scalar(
          "div.h", "div into", 0.3, 10, [](const Variable& x, double c) { return div(c, x); },
          [](Tape& t, Number x, double c) { return t.div(t.constant(c), x); }),
      broadcast("maximum.h", "maximum", maximum, &Tape::larger),
      broadcast("minimum.h", "minimum", minimum, &Tape::smaller),
  };
}

}  // namespace minigpt::differential
