// Sums, means and extremes over some axes.
#include "autograd/ops/max.h"
#include "autograd/ops/mean.h"
#include "autograd/ops/sum.h"
#include "autograd/ops/var.h"
#include "tests/differential/plain.h"

namespace minigpt::differential {
namespace {

// ints: keepdim, then the axes; reals: whatever the op takes besides.
Op reduction(const char* header, const char* name, bool may_be_empty,
             Variable (*library)(const Variable&, const Dims&, bool, const Attributes&),
             Number (*plain)(Tape&, const std::vector<Number>&, const Attributes&)) {
  return {
      header,
      name,
      [may_be_empty](Builder& b, const Op& op) {
        const int x = may_be_empty ? b.any() : b.like([&](int v) { return b.array(v).numel() > 0; }, {3, 4});
        if (!may_be_empty && b.array(x).numel() == 0) return;
        const Dims axes = b.axes_of(x);
        Attributes a{{b.draw.chance(0.4)}, {}, {}};
        a.ints.insert(a.ints.end(), axes.begin(), axes.end());
        if (std::string_view(op.name) == "var")
          a.reals.push_back(b.draw.pick(std::vector<double>{0, 1, 0.5}));
        b.apply(op, {x}, a);
      },
      [library](const Variables& x, const Attributes& a) {
        return one(library(x[0], a.dims(1), a.ints[0] != 0, a));
      },
      [plain](Tape& t, const Arrays& x, const Attributes& a) {
        return one(reduced(x[0], a.dims(1), a.ints[0] != 0,
                           [&](const std::vector<Number>& group) { return plain(t, group, a); }));
      },
      {}};
}

Number mean_of(Tape& t, const std::vector<Number>& group, const Attributes&) {
  return t.scale(t.sum(group), 1 / static_cast<double>(group.size()));
}

Number var_of(Tape& t, std::vector<Number> group, const Attributes& a) {
  const Number m = mean_of(t, group, a);
  for (Number& x : group) x = t.sub(x, m);
  // No number where nothing is left to divide by.
  const double n = std::max(0.0, static_cast<double>(group.size()) - a.reals[0]);
  return t.scale(t.dot(group, group), 1 / n);
}

Op max_of_all_op() {
  return {"max.h",
          "max of all",
          [](Builder& b, const Op& op) {
            const int x = b.like([&](int v) { return b.array(v).numel() > 0; }, {3, 4});
            if (b.array(x).numel() > 0) b.apply(op, {x});
          },
          [](const Variables& x, const Attributes&) { return one(max(x[0])); },
          [](Tape& t, const Arrays& x, const Attributes&) {
            return one(Array{{}, {t.largest(x[0].at, Ties::share)}});
          },
          {}};
}

Op max_along_op() {
  return {"max.h",
          "max",
          [](Builder& b, const Op& op) {
            const int x = b.like([&](int v) { return b.rank(v) >= 1; }, {3, 4}), axis = b.axis_of(x);
            if (b.array(x).dim(axis) > 0) b.apply(op, {x}, {{b.draw.chance(0.4), axis}, {}, {}});
          },
          [](const Variables& x, const Attributes& a) {
            return one(max(x[0], a.integer(1), a.ints[0] != 0).values);
          },
          [](Tape& t, const Arrays& x, const Attributes& a) {
            return one(reduced(x[0], {a.ints[1]}, a.ints[0] != 0, [&](const std::vector<Number>& group) {
              return t.largest(group, Ties::first);
            }));
          },
          {}};
}

}  // namespace

std::vector<Op> reduction_ops() {
  return {
      reduction(
          "sum.h", "sum", true,
          [](const Variable& x, const Dims& axes, bool keep, const Attributes&) {
            return sum(x, axes, keep);
          },
          [](Tape& t, const std::vector<Number>& group, const Attributes&) { return t.sum(group); }),
      reduction(
          "mean.h", "mean", true,
          [](const Variable& x, const Dims& axes, bool keep, const Attributes&) {
            return mean(x, axes, keep);
          },
          mean_of),
      reduction(
          "var.h", "var", true,
          [](const Variable& x, const Dims& axes, bool keep, const Attributes& a) {
            return var(x, axes, a.reals[0], keep);
          },
          [](Tape& t, const std::vector<Number>& group, const Attributes& a) { return var_of(t, group, a); }),
      reduction(
          "max.h", "amax", false,
          [](const Variable& x, const Dims& axes, bool keep, const Attributes&) {
            return amax(x, axes, keep);
          },
          [](Tape& t, const std::vector<Number>& group, const Attributes&) {
            return t.largest(group, Ties::share);
          }),
      max_of_all_op(),
      max_along_op()};
}

}  // namespace minigpt::differential
