// Matrix products.
#include "autograd/ops/linear.h"
#include "autograd/ops/linear_activation.h"
#include "autograd/ops/matmul.h"
#include "autograd/ops/mlp.h"
#include "tests/differential/plain.h"

namespace minigpt::differential {
namespace {

// Multiplications that one product may have.
std::int64_t budget(const Builder& b) { return b.large ? 600000 : 12000; }

// An extent with which `count` multiplications stay within the budget.
std::int64_t fitting(Builder& b, std::int64_t count, bool may_be_zero = true) {
  const std::int64_t most = std::max<std::int64_t>(budget(b) / std::max<std::int64_t>(count, 1), 1);
  return std::min(b.extent(may_be_zero), most);
}

// Batch axes that broadcast with those given.
Shape batch_for(Builder& b, const Shape& batch) {
  Shape other;
  const int dropped = b.draw.chance(0.4) ? static_cast<int>(b.draw.between(0, batch.size())) : 0;
  for (int i = dropped; i < batch.size(); ++i) other.push_back(b.draw.chance(0.25) ? 1 : batch[i]);
  if (other.size() == batch.size() && other.size() < 2 && b.draw.chance(0.15))
    other.insert(0, b.draw.between(1, 3));
  return other;
}

void propose_matmul(Builder& b, const Op& op) {
  int x = b.like([&](int v) { return b.rank(v) >= 1 && b.rank(v) <= 4; },
                 b.random_shape(static_cast<int>(b.draw.between(1, 3))));
  const Shape s = b.shape(x);
  if (room(s) > budget(b)) return;
  const bool left = b.draw.chance(0.6);  // x is the left factor
  const std::int64_t inner = s.size() == 1 ? s[0] : left ? s.back() : s[s.size() - 2];
  // Rarely more than a few times the numbers of x.
  const std::int64_t n = fitting(b, room(s) * 3);
  Shape other;
  if (!b.draw.chance(0.15)) {
    if (s.size() > 2) other = batch_for(b, Shape(s.begin(), s.end() - 2));
    other.push_back(left ? inner : n);
    other.push_back(left ? n : inner);
  } else {
    other.push_back(inner);
  }
  if (room(other) > b.limit()) return;
  const bool square = s.size() >= 2 && s[s.size() - 1] == s[s.size() - 2];
  const int y = square && b.draw.chance(0.2) ? x : b.of_shape(other);
  b.apply(op, left ? std::vector<int>{x, y} : std::vector<int>{y, x});
}

Array plain_matmul(Tape& t, Array a, Array b) {
  const bool row = a.rank() == 1, column = b.rank() == 1;
  if (row) a.shape.insert(0, 1);
  if (column) b.shape.push_back(1);
  const std::int64_t m = a.dim(-2), k = a.dim(-1), n = b.dim(-1);
  const Shape batch_a(a.shape.begin(), a.shape.end() - 2), batch_b(b.shape.begin(), b.shape.end() - 2);
  Array y{broadcast_shapes("matmul", batch_a, batch_b), {}};
  std::vector<Number> p(static_cast<std::size_t>(k)), q(static_cast<std::size_t>(k));
  for_each_index(y.shape, [&](const Dims& batch, std::int64_t) {
    const std::int64_t from_a = flat_index(batch, batch_a) * m * k,
                       from_b = flat_index(batch, batch_b) * k * n;
    for (std::int64_t i = 0; i < m; ++i)
      for (std::int64_t j = 0; j < n; ++j) {
        for (std::int64_t l = 0; l < k; ++l) {
          p[static_cast<std::size_t>(l)] = a[from_a + i * k + l];
          q[static_cast<std::size_t>(l)] = b[from_b + l * n + j];
        }
        y.at.push_back(t.dot(p, q, true));
      }
  });
  if (!row) y.shape.push_back(m);
  if (!column) y.shape.push_back(n);
  return y;
}

int rows(Builder& b) {
  return b.like([&](int v) { return b.rank(v) >= 1; }, b.random_shape(2));
}
int maybe(Builder& b, const Shape& shape) { return b.draw.chance(0.3) ? -1 : b.of_shape(shape); }

void propose_linear(Builder& b, const Op& op, Attributes a = {}) {
  const int x = rows(b);
  const std::int64_t k = b.shape(x).back(), n = fitting(b, room(b.shape(x)));
  if (room(b.shape(x)) * n > budget(b)) return;
  const int weight = b.of_shape({n, k}), bias = maybe(b, {n});
  b.apply(op, {x, weight, bias}, std::move(a));
}

Op linear_op() {
  return {"linear.h",
          "linear",
          [](Builder& b, const Op& op) { propose_linear(b, op); },
          [](const Variables& x, const Attributes&) { return one(linear(x[0], x[1], x[2])); },
          [](Tape& t, const Arrays& x, const Attributes&) { return one(affine(t, x[0], x[1], x[2])); },
          {}};
}

Activation function_of(const Attributes& a) { return static_cast<Activation>(a.ints[0]); }

Array activated(Tape& t, Array x, Activation f) {
  return map(x, [&](Number n) { return activate(t, n, f); });
}

Op linear_activation_op() {
  return {"linear_activation.h",
          "linear_activation",
          [](Builder& b, const Op& op) {
            propose_linear(b, op, {{b.draw.between(0, 5)}, {}, {}});
          },
          [](const Variables& x, const Attributes& a) {
            return one(linear_activation(x[0], x[1], x[2], function_of(a)));
          },
          [](Tape& t, const Arrays& x, const Attributes& a) {
            return one(activated(t, affine(t, x[0], x[1], x[2]), function_of(a)));
          },
          [](const Variables& x, const Attributes& a) {
            return one(linear_activation_composed(x[0], x[1], x[2], function_of(a)));
          }};
}

// Operands: x, W1, b1, W2, b2.
Op mlp_op() {
  return {"mlp.h",
          "mlp",
          [](Builder& b, const Op& op) {
            const int x = rows(b);
            const std::int64_t c = b.shape(x).back(), count = room(b.shape(x));
            const std::int64_t hidden = fitting(b, 2 * count),
                               n = b.draw.chance(0.7) ? c : fitting(b, 2 * count);
            const std::int64_t some = count / std::max<std::int64_t>(c, 1);
            if (some * hidden * (c + n) > budget(b)) return;
            const int w1 = b.of_shape({hidden, c}), b1 = maybe(b, {hidden});
            const int w2 = b.of_shape({n, hidden}), b2 = maybe(b, {n});
            b.apply(op, {x, w1, b1, w2, b2}, {{b.draw.between(1, 5)}, {}, {}});
          },
          [](const Variables& x, const Attributes& a) {
            return one(mlp(x[0], x[1], x[2], x[3], x[4], function_of(a)));
          },
          [](Tape& t, const Arrays& x, const Attributes& a) {
            return one(affine(t, activated(t, affine(t, x[0], x[1], x[2]), function_of(a)), x[3], x[4]));
          },
          [](const Variables& x, const Attributes& a) {
            return one(mlp_composed(x[0], x[1], x[2], x[3], x[4], function_of(a)));
          }};
}

}  // namespace

std::vector<Op> product_ops() {
  return {{"matmul.h",
           "matmul",
           propose_matmul,
           [](const Variables& x, const Attributes&) { return one(matmul(x[0], x[1])); },
           [](Tape& t, const Arrays& x, const Attributes&) { return one(plain_matmul(t, x[0], x[1])); },
           {}},
          linear_op(),
          linear_activation_op(),
          mlp_op()};
}

}  // namespace minigpt::differential
