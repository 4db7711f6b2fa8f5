// What happens to queries, keys and values. All take (B, T, 3C).
#include <cmath>

#include "autograd/ops/causal_attention.h"
#include "autograd/ops/qk_norm.h"
#include "autograd/ops/rotary.h"
#include "tensor/rotary.h"
#include "tests/differential/plain.h"

namespace minigpt::differential {
namespace {

struct Heads {
  int qkv;
  std::int64_t heads;
};

// Queries, keys and values whose heads have an even or any number of columns.
Heads heads(Builder& b, bool even, bool quadratic) {
  const std::int64_t unit = even ? 6 : 3;
  const std::int64_t batch = b.draw.chance(0.02) ? 0 : b.draw.between(1, 3), count = b.draw.between(1, 3);
  const std::int64_t width = b.draw.pick(std::vector<std::int64_t>{1, 2, 3, 4, 5, 8, 9});
  std::int64_t length = b.extent();
  if (quadratic && b.large) length = b.draw.between(40, 100);
  while (batch * length * 3 * count * width * (even ? 2 : 1) * (quadratic ? length / 4 + 1 : 1) >
         b.limit() * (quadratic ? 6 : 1))
    length /= 2;
  const Shape shape = {batch, length, unit * count * width};
  const int qkv = b.like(
      [&](int v) {
        const Shape& s = b.shape(v);
        return s.size() == 3 && s[2] > 0 && s[2] % unit == 0 &&
               (!quadratic || s[0] * s[1] * s[1] * s[2] <= 12 * b.limit());
      },
      shape);
  // Some divisor of the columns of a part, in units of which a head is made.
  const std::int64_t columns = b.shape(qkv)[2] / unit;
  std::vector<std::int64_t> divisors;
  for (std::int64_t h = 1; h <= std::min<std::int64_t>(columns, 8); ++h)
    if (columns % h == 0) divisors.push_back(h);
  return {qkv, b.draw.pick(divisors)};
}

// ints: heads; reals: eps
Op qk_norm_op() {
  return {"qk_norm.h",
          "qk_norm",
          [](Builder& b, const Op& op) {
            const Heads h = heads(b, false, false);
            b.apply(op, {h.qkv}, {{h.heads}, {b.draw.pick(std::vector<double>{1e-5, 1e-3, 0.1})}, {}});
          },
          [](const Variables& x, const Attributes& a) { return one(qk_norm(x[0], a.ints[0], a.reals[0])); },
          [](Tape& t, const Arrays& x, const Attributes& a) {
            const std::int64_t c = x[0].dim(2) / 3, d = c / a.ints[0];
            Array y = x[0];
            for (std::int64_t row = 0; row < y.numel(); row += 3 * c)
              for (std::int64_t from = row; from < row + 2 * c; from += d) {
                const Array head{{d}, {y.at.begin() + from, y.at.begin() + from + d}};
                const Array out = normalised(t, head, nullptr, nullptr, a.reals[0], false);
                std::copy(out.at.begin(), out.at.end(), y.at.begin() + from);
              }
            return one(y);
          },
          [](const Variables& x, const Attributes& a) {
            return one(qk_norm_composed(x[0], a.ints[0], a.reals[0]));
          }};
}

// ints: heads, first position, inverse; tensors: the table.
Op rotary_op() {
  return {"rotary.h",
          "rotary",
          [](Builder& b, const Op& op) {
            const Heads h = heads(b, true, false);
            const std::int64_t first = b.draw.chance(0.5) ? 0 : b.draw.between(1, 20);
            const std::int64_t positions = first + b.shape(h.qkv)[1] + b.draw.between(0, 3);
            const Tensor table = rotary_table(positions, b.shape(h.qkv)[2] / 3 / h.heads);
            const std::vector<double> angles = table.to(DType::f64).to_vector<double>();
            b.apply(
                op, {h.qkv},
                {{h.heads, first, b.draw.chance(0.3)}, {}, {b.stored(table.shape(), angles, DType::f32)}});
          },
          [](const Variables& x, const Attributes& a) {
            return one(rotary(x[0], a.ints[0], a.tensors[0].tensor(), a.ints[1], a.ints[2] != 0));
          },
          [](Tape& t, const Arrays& x, const Attributes& a) {
            const std::int64_t length = x[0].dim(1), columns = x[0].dim(2), d = columns / 3 / a.ints[0];
            Array y = x[0];
            for (std::int64_t row = 0; row * columns < y.numel(); ++row) {
              const std::int64_t position = a.ints[1] + row % length;
              for (std::int64_t i = 0; i < columns / 3 * 2; ++i) {
                const std::int64_t pair = i % d;
                if (pair >= d / 2) continue;
                const double c = at(a.tensors[0], {0, position, pair});
                const double s = at(a.tensors[0], {1, position, pair}) * (a.ints[2] ? -1 : 1);
                const std::size_t p = static_cast<std::size_t>(row * columns + i),
                                  q = p + static_cast<std::size_t>(d / 2);
                const Number u = y.at[p], v = y.at[q];
                y.at[p] = t.sub(t.scale(u, c), t.scale(v, s));
                y.at[q] = t.add(t.scale(u, s), t.scale(v, c));
              }
            }
            return one(y);
          },
          {}};
}

// ints: heads; reals: p; tensors: keep bits
Op causal_attention_op() {
  const auto mask = [](const Attributes& a) {
    return DropoutMask{a.tensors.empty() ? Tensor() : a.tensors[0].tensor(), a.reals[0]};
  };
  return {
      "causal_attention.h",
      "causal_attention",
      [](Builder& b, const Op& op) {
        const Heads h = heads(b, false, true);
        const Shape& s = b.shape(h.qkv);
        const double p = b.draw.chance(0.6) ? 0 : b.draw.pick(std::vector<double>{0.2, 0.5, 1});
        Attributes a{{h.heads}, {p}, {}};
        if (p > 0 && p < 1) a.tensors.push_back(keep_bits(b, s[0] * h.heads * s[1] * s[1], p));
        b.apply(op, {h.qkv}, a);
      },
      [mask](const Variables& x, const Attributes& a) {
        return one(causal_attention(x[0], a.integer(0), mask(a)));
      },
      [](Tape& t, const Arrays& x, const Attributes& a) {
        const std::int64_t B = x[0].dim(0), T = x[0].dim(1), C = x[0].dim(2) / 3, H = a.ints[0], D = C / H;
        const double p = a.reals[0], scale = 1 / std::sqrt(static_cast<double>(D));
        Array y{{B, T, C}, std::vector<Number>(static_cast<std::size_t>(B * T * C))};
        // Columns of part 0, 1, 2 (queries, keys, values) of a head at a position.
        const auto part = [&](std::int64_t b, std::int64_t i, std::int64_t which, std::int64_t h) {
          return std::span<const Number>(x[0].at.data() + (b * T + i) * 3 * C + which * C + h * D,
                                         static_cast<std::size_t>(D));
        };
        for (std::int64_t b = 0; b < B; ++b)
          for (std::int64_t h = 0; h < H; ++h)
            for (std::int64_t i = 0; i < T; ++i) {
              std::vector<Number> weights;
              for (std::int64_t j = 0; j <= i; ++j)
                weights.push_back(t.scale(t.dot(part(b, i, 0, h), part(b, j, 1, h), true), scale));
              weights = softmax(t, weights);
              for (std::int64_t j = 0; j <= i; ++j) {
                Number& w = weights[static_cast<std::size_t>(j)];
                const std::int64_t bit = ((b * H + h) * T + i) * T + j;
                if (p > 0) w = p < 1 && kept(a.tensors[0], bit) ? t.scale(w, 1 / (1 - p)) : t.constant(0);
              }
              std::vector<Number> column(weights.size());
              for (std::int64_t d = 0; d < D; ++d) {
                for (std::int64_t j = 0; j <= i; ++j)
                  column[static_cast<std::size_t>(j)] = part(b, j, 2, h)[static_cast<std::size_t>(d)];
                y.at[static_cast<std::size_t>((b * T + i) * C + h * D + d)] = t.dot(weights, column, true);
              }
            }
        return one(y);
      },
      [mask](const Variables& x, const Attributes& a) {
        return one(causal_attention_composed(x[0], a.integer(0), mask(a)));
      }};
}

}  // namespace

std::vector<Op> attention_ops() { return {qk_norm_op(), rotary_op(), causal_attention_op()}; }

}  // namespace minigpt::differential
