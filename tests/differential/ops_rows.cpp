// Softmax and its relatives.
#include <cmath>
#include <limits>

#include "autograd/ops/cross_entropy.h"
#include "autograd/ops/log_softmax.h"
#include "autograd/ops/masked_fill.h"
#include "autograd/ops/softmax.h"
#include "tests/differential/plain.h"

namespace minigpt::differential {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// log(sum_k exp(x_k)) in two parts: the largest, as a plain number, and the rest.
struct LogSum {
  double largest;
  Number rest;
};
LogSum log_sum(Tape& t, const std::vector<Number>& row) {
  double largest = -kInfinity;
  for (Number x : row) largest = std::max(largest, t.value(x));
  std::vector<Number> e;
  for (Number x : row) e.push_back(t.exp(t.shift(x, -largest)));
  return {largest, t.log(t.sum(e))};
}

// With a mask, whose elements are set to -inf before; rows may be masked as a whole.
Op softmax_op() {
  return {
      "softmax.h",
      "softmax",
      [](Builder& b, const Op& op) {
        const int x = b.like([&](int v) { return b.rank(v) >= 1; }, b.random_shape(2));
        Attributes a{{b.axis_of(x)}, {}, {}};
        if (b.draw.chance(0.3)) a.tensors.push_back(random_mask(b, b.shape(x), b.draw.chance(0.2) ? 1 : 0.4));
        b.apply(op, {x}, a);
      },
      [](const Variables& x, const Attributes& a) {
        const Variable in = a.tensors.empty() ? x[0] : masked_fill(x[0], a.tensors[0].tensor(), -kInfinity);
        return one(minigpt::softmax(in, a.integer(0)));
      },
      [](Tape& t, const Arrays& x, const Attributes& a) {
        Array in = x[0];
        if (!a.tensors.empty())
          for (std::size_t i = 0; i < in.at.size(); ++i)
            if (a.tensors[0].values[i] != 0) in.at[i] = t.constant(-kInfinity);
        return one(along(in, a.integer(0), [&](const std::vector<Number>& row) { return softmax(t, row); }));
      },
      {}};
}

Op log_softmax_op() {
  return {"log_softmax.h",
          "log_softmax",
          [](Builder& b, const Op& op) {
            const int x = b.like([&](int v) { return b.rank(v) >= 1; }, b.random_shape(2));
            b.apply(op, {x}, {{b.axis_of(x)}, {}, {}});
          },
          [](const Variables& x, const Attributes& a) { return one(log_softmax(x[0], a.integer(0))); },
          [](Tape& t, const Arrays& x, const Attributes& a) {
            return one(along(x[0], a.integer(0), [&](const std::vector<Number>& row) {
              std::vector<Number> y;
              if (row.empty()) return y;
              const LogSum s = log_sum(t, row);
              for (Number v : row) y.push_back(t.sub(t.shift(v, -s.largest), s.rest));
              return y;
            }));
          },
          {}};
}

// ints: reduction, ignore_index.
Op cross_entropy_op() {
  const auto call = [](auto f) {
    return [f](const Variables& x, const Attributes& a) {
      return one(f(x[0], a.tensors[0].tensor(), static_cast<Reduction>(a.ints[0]), a.integer(1)));
    };
  };
  return {
      "cross_entropy.h",
      "cross_entropy",
      [](Builder& b, const Op& op) {
        const int x = b.like([&](int v) { return b.rank(v) == 2 && b.shape(v)[1] > 0; }, b.random_rows());
        const std::int64_t n = b.shape(x)[0], classes = b.shape(x)[1];
        if (classes == 0) return;
        const std::int64_t ignored = b.draw.chance(0.5) ? -100 : b.draw.between(0, classes - 1);
        Stored targets = random_indices(b, {n}, classes);
        for (double& v : targets.values)
          if (ignored < 0 && b.draw.chance(0.2)) v = static_cast<double>(ignored);
        // A mean over nothing is no number.
        std::int64_t kept = 0;
        for (double v : targets.values) kept += v != static_cast<double>(ignored);
        b.apply(op, {x}, {{kept == 0 ? b.draw.between(1, 2) : b.draw.between(0, 2), ignored}, {}, {targets}});
      },
      call([](const Variable& x, const Tensor& t, Reduction r, int i) { return cross_entropy(x, t, r, i); }),
      [](Tape& t, const Arrays& x, const Attributes& a) {
        const Stored& targets = a.tensors[0];
        const std::int64_t classes = x[0].dim(1);
        Array losses{targets.shape, {}};
        double counted = 0;
        for (std::size_t i = 0; i < targets.values.size(); ++i) {
          if (targets.values[i] == static_cast<double>(a.ints[1])) {
            losses.at.push_back(t.constant(0));
            continue;
          }
          ++counted;
          const auto begin = x[0].at.begin() + static_cast<std::ptrdiff_t>(i) * classes;
          const std::vector<Number> row(begin, begin + classes);
          const LogSum s = log_sum(t, row);
          const Number picked = row[static_cast<std::size_t>(targets.values[i])];
          losses.at.push_back(t.sub(s.rest, t.shift(picked, -s.largest)));
        }
        const auto reduction = static_cast<Reduction>(a.ints[0]);
        if (reduction == Reduction::none) return one(losses);
        const Number total = t.sum(losses.at);
        return one(Array{{}, {reduction == Reduction::sum ? total : t.scale(total, 1 / counted)}});
      },
      call([](const Variable& x, const Tensor& t, Reduction r, int i) {
        return cross_entropy_composed(x, t, r, i);
      })};
}

}  // namespace

std::vector<Op> row_ops() { return {softmax_op(), log_softmax_op(), cross_entropy_op()}; }

}  // namespace minigpt::differential
