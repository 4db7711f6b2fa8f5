// Normalisation over the last axes, alone, after an addition, and before a linear map.
#include "autograd/ops/layer_norm.h"
#include "autograd/ops/norm_linear.h"
#include "autograd/ops/residual_norm.h"
#include "autograd/ops/rms_norm.h"
#include "tests/differential/plain.h"

namespace minigpt::differential {
namespace {

int rows(Builder& b) {
  return b.like([&](int v) { return b.rank(v) >= 1 && b.shape(v).back() > 0; }, b.random_rows());
}
double epsilon(Builder& b) { return b.draw.pick(std::vector<double>{1e-5, 1e-3, 0.1}); }
// A parameter of that shape, or none.
int parameter(Builder& b, const Shape& shape) { return b.draw.chance(0.25) ? -1 : b.of_shape(shape); }

// reals: eps; ints: how many axes are normalised over.
Op layer_norm_op() {
  const auto shape_of = [](const Variable& x, const Attributes& a) {
    return Shape(x.shape().end() - a.ints[0], x.shape().end());
  };
  return {"layer_norm.h",
          "layer_norm",
          [](Builder& b, const Op& op) {
            const int x = rows(b);
            const int axes = b.draw.chance(0.7) ? 1 : static_cast<int>(b.draw.between(1, b.rank(x)));
            const Shape shape(b.shape(x).end() - axes, b.shape(x).end());
            if (numel(shape) == 0) return;
            const int weight = parameter(b, shape), bias = parameter(b, shape);
            b.apply(op, {x, weight, bias}, {{axes}, {epsilon(b)}, {}});
          },
          [shape_of](const Variables& x, const Attributes& a) {
            // The shorter form, where it means the same.
            if (x[1].defined() || x[2].defined() || a.ints[0] == 1)
              return one(layer_norm(x[0], x[1], x[2], a.reals[0]));
            return one(layer_norm(x[0], shape_of(x[0], a), x[1], x[2], a.reals[0]));
          },
          [](Tape& t, const Arrays& x, const Attributes& a) {
            Array flat = x[0];
            const Shape& s = x[0].shape;
            flat.shape = Shape(s.begin(), s.end() - a.ints[0]);
            flat.shape.push_back(numel(Shape(s.end() - a.ints[0], s.end())));
            Array y = normalised(t, flat, &x[1], &x[2], a.reals[0], true);
            y.shape = s;
            return one(y);
          },
          [shape_of](const Variables& x, const Attributes& a) {
            if (a.ints[0] == 1) return one(layer_norm_composed(x[0], x[1], x[2], a.reals[0]));
            return one(layer_norm(x[0], shape_of(x[0], a), x[1], x[2], a.reals[0]));
          }};
}

Op rms_norm_op() {
  return {
      "rms_norm.h",
      "rms_norm",
      [](Builder& b, const Op& op) {
        const int x = rows(b), weight = parameter(b, {b.shape(x).back()});
        if (b.shape(x).back() > 0) b.apply(op, {x, weight}, {{}, {epsilon(b)}, {}});
      },
      [](const Variables& x, const Attributes& a) { return one(rms_norm(x[0], x[1], a.reals[0])); },
      [](Tape& t, const Arrays& x, const Attributes& a) {
        return one(normalised(t, x[0], &x[1], nullptr, a.reals[0], false));
      },
      [](const Variables& x, const Attributes& a) { return one(rms_norm_composed(x[0], x[1], a.reals[0])); }};
}

// Operands: x, branch, weight, bias. Results: the sum, and it normalised.
Op residual_op(const char* name, bool centre, const Op::Library& library) {
  return {"residual_norm.h",
          name,
          [centre](Builder& b, const Op& op) {
            const int x = rows(b);
            if (b.shape(x).back() == 0) return;
            const int branch = b.draw.chance(0.1) ? x : b.of_shape(b.shape(x));
            const Shape last = {b.shape(x).back()};
            std::vector<int> operands = {x, branch, parameter(b, last)};
            if (centre) operands.push_back(parameter(b, last));
            b.apply(op, operands, {{}, {epsilon(b)}, {}});
          },
          library,
          [centre](Tape& t, const Arrays& x, const Attributes& a) {
            const Array sum = zip(x[0], x[1], [&](Number p, Number q) { return t.add(p, q); });
            const Array normed = normalised(t, sum, &x[2], centre ? &x[3] : nullptr, a.reals[0], centre);
            return std::vector<Array>{sum, normed};
          },
          {}};
}

// Operands: x, gain, shift, W, b (layer_norm) or x, gain, W, b (rms_norm).
Op norm_linear_op(const char* name, bool centre, const Op::Library& library) {
  return {"norm_linear.h",
          name,
          [centre](Builder& b, const Op& op) {
            const int x = rows(b);
            const std::int64_t c = b.shape(x).back(), n = b.extent();
            if (c == 0 || b.array(x).numel() * n > (b.large ? 600000 : 12000)) return;
            std::vector<int> operands = {x, parameter(b, {c})};
            if (centre) operands.push_back(parameter(b, {c}));
            operands.push_back(b.of_shape({n, c}));
            operands.push_back(parameter(b, {n}));
            b.apply(op, operands, {{}, {epsilon(b)}, {}});
          },
          library,
          [centre](Tape& t, const Arrays& x, const Attributes& a) {
            const std::size_t w = centre ? 3 : 2;
            const Array h = normalised(t, x[0], &x[1], centre ? &x[2] : nullptr, a.reals[0], centre);
            return one(affine(t, h, x[w], x[w + 1]));
          },
          {}};
}

}  // namespace

std::vector<Op> norm_ops() {
  return {layer_norm_op(),
          rms_norm_op(),
          residual_op("residual_layer_norm", true,
                      [](const Variables& x, const Attributes& a) {
                        const ResidualNorm r = residual_layer_norm(x[0], x[1], x[2], x[3], a.reals[0]);
                        return Variables{r.sum, r.normed};
                      }),
          residual_op("residual_rms_norm", false,
                      [](const Variables& x, const Attributes& a) {
                        const ResidualNorm r = residual_rms_norm(x[0], x[1], x[2], a.reals[0]);
                        return Variables{r.sum, r.normed};
                      }),
          norm_linear_op("layer_norm_linear", true,
                         [](const Variables& x, const Attributes& a) {
                           return one(layer_norm_linear(x[0], x[1], x[2], x[3], x[4], a.reals[0]));
                         }),
          norm_linear_op("rms_norm_linear", false, [](const Variables& x, const Attributes& a) {
            return one(rms_norm_linear(x[0], x[1], x[2], x[3], a.reals[0]));
          })};
}

}  // namespace minigpt::differential
