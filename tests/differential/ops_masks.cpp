// Operations that keep some elements and replace others.
#include "autograd/ops/dropout.h"
#include "autograd/ops/masked_fill.h"
#include "autograd/ops/tril.h"
#include "autograd/ops/triu.h"
#include "autograd/ops/where.h"
#include "tests/differential/plain.h"

namespace minigpt::differential {
namespace {

// A shape that broadcasts to `shape`.
Shape narrower(Builder& b, const Shape& shape) {
  if (b.draw.chance(0.5)) return shape;
  Shape out;
  const int dropped = static_cast<int>(b.draw.between(0, shape.size()));
  for (int axis = dropped; axis < shape.size(); ++axis) out.push_back(b.draw.chance(0.4) ? 1 : shape[axis]);
  return out;
}

Op dropout_op() {
  const auto mask = [](const Attributes& a) {
    return DropoutMask{a.tensors.empty() ? Tensor() : a.tensors[0].tensor(), a.reals[0]};
  };
  return {"dropout.h",
          "dropout",
          [](Builder& b, const Op& op) {
            const int x = b.any();
            const double p = b.draw.pick(std::vector<double>{0, 0.1, 0.25, 0.5, 0.9, 1});
            Attributes a{{}, {p}, {}};
            if (p > 0 && (p < 1 || b.draw.chance(0.5)))
              a.tensors.push_back(keep_bits(b, b.array(x).numel(), p));
            b.apply(op, {x}, a);
          },
          [mask](const Variables& x, const Attributes& a) { return one(dropout(x[0], mask(a))); },
          [](Tape& t, const Arrays& x, const Attributes& a) {
            const double p = a.reals[0];
            std::int64_t n = 0;
            return one(map(x[0], [&](Number v) {
              const std::int64_t i = n++;
              if (p == 0) return v;
              return p < 1 && kept(a.tensors[0], i) ? t.scale(v, 1 / (1 - p)) : t.constant(0);
            }));
          },
          {}};
}

Op masked_fill_op() {
  return {"masked_fill.h",
          "masked_fill",
          [](Builder& b, const Op& op) {
            const int x = b.any();
            b.apply(op, {x},
                    {{},
                     {b.draw.pick(std::vector<double>{0, 0, -1.5, 2})},
                     {random_mask(b, narrower(b, b.shape(x)), 0.4)}});
          },
          [](const Variables& x, const Attributes& a) {
            return one(masked_fill(x[0], a.tensors[0].tensor(), a.reals[0]));
          },
          [](Tape& t, const Arrays& x, const Attributes& a) {
            return one(filled(x[0].shape, [&](const Dims& i) {
              return at(a.tensors[0], i) != 0 ? t.constant(a.reals[0]) : at(x[0], i);
            }));
          },
          {}};
}

Op where_op() {
  return {
      "where.h",
      "where",
      [](Builder& b, const Op& op) {
        const int x = b.any(), y = b.broadcasting_with(x);
        const Shape both = broadcast_shapes("where", b.shape(x), b.shape(y));
        Shape condition = narrower(b, both);
        // The condition may be the widest of the three.
        if (both.size() < 4 && 2 * numel(both) <= b.limit() && b.draw.chance(0.1)) {
          condition = both;
          condition.insert(0, 2);
        }
        b.apply(op, {x, y}, {{}, {}, {random_mask(b, condition, 0.5)}});
      },
      [](const Variables& x, const Attributes& a) { return one(where(a.tensors[0].tensor(), x[0], x[1])); },
      [](Tape&, const Arrays& x, const Attributes& a) {
        const Shape both = broadcast_shapes("where", x[0].shape, x[1].shape);
        return one(filled(broadcast_shapes("where", both, a.tensors[0].shape), [&](const Dims& i) {
          return at(a.tensors[0], i) != 0 ? at(x[0], i) : at(x[1], i);
        }));
      },
      {}};
}

Op triangle(const char* header, const char* name, Variable (*library)(const Variable&, std::int64_t),
            bool lower) {
  return {header,
          name,
          [](Builder& b, const Op& op) {
            const int x = b.like([&](int v) { return b.rank(v) >= 2; },
                                 b.random_shape(static_cast<int>(b.draw.between(2, 4))));
            b.apply(op, {x}, {{b.draw.between(-3, 3)}, {}, {}});
          },
          [library](const Variables& x, const Attributes& a) { return one(library(x[0], a.ints[0])); },
          [lower](Tape& t, const Arrays& x, const Attributes& a) {
            return one(filled(x[0].shape, [&](const Dims& i) {
              const std::int64_t row = i[i.size() - 2], column = i[i.size() - 1];
              const bool stays = lower ? column <= row + a.ints[0] : column >= row + a.ints[0];
              return stays ? at(x[0], i) : t.constant(0);
            }));
          },
          {}};
}

}  // namespace

std::vector<Op> mask_ops() {
  return {dropout_op(), masked_fill_op(), where_op(), triangle("tril.h", "tril", tril, true),
          triangle("triu.h", "triu", triu, false)};
}

}  // namespace minigpt::differential
