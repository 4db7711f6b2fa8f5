// sums, means and extremes over any choice of axes, named in any order.

#include "autograd/ops/max.h"
#include "autograd/ops/mean.h"
#include "autograd/ops/mul.h"
#include "autograd/ops/sum.h"
#include "autograd/ops/var.h"
#include "tests/autograd/gradient_testing.h"

namespace minigpt {
namespace {

// Every choice of axes of a tensor with `rank` of them, in every order, each axis counted from either end.
std::vector<Dims> all_choices(int rank) {
  std::vector<Dims> choices = {Dims{}};
  for (std::size_t i = 0; i < choices.size(); ++i) {
    for (int axis = -rank; axis < rank; ++axis) {
      Dims longer = choices[i];
      bool taken = false;
      for (const std::int64_t a : longer) taken = taken || (a - axis) % rank == 0;
      if (taken) continue;
      longer.push_back(axis);
      choices.push_back(longer);
    }
  }
  return choices;
}

struct Reduction {
  const char* name;
  Variable (*apply)(const Variable&, const Dims&, bool);
  double (*of)(const std::vector<double>&);  // the numbers that are reduced to one
};

double total(const std::vector<double>& x) {
  double sum = 0;
  for (const double v : x) sum += v;
  return sum;
}
double average(const std::vector<double>& x) { return total(x) / static_cast<double>(x.size()); }

const Reduction kReductions[] = {
    {"sum", [](const Variable& x, const Dims& axes, bool keep) { return sum(x, axes, keep); }, total},
    {"mean", [](const Variable& x, const Dims& axes, bool keep) { return mean(x, axes, keep); }, average},
    {"amax", [](const Variable& x, const Dims& axes, bool keep) { return amax(x, axes, keep); },
     [](const std::vector<double>& x) { return *std::max_element(x.begin(), x.end()); }},
    {"var", [](const Variable& x, const Dims& axes, bool keep) { return var(x, axes, 0, keep); },
     [](const std::vector<double>& x) {
       double squares = 0;
       for (const double v : x) squares += (v - average(x)) * (v - average(x));
       return squares / static_cast<double>(x.size());
     }},
};

// The numbers of x (2, 3, 4) that fall on each element of the result, in its row-major order.
std::vector<std::vector<double>> groups_of(const std::vector<double>& x, const Dims& axes) {
  bool gone[3] = {axes.empty(), axes.empty(), axes.empty()};
  for (const std::int64_t a : axes) gone[(a + 3) % 3] = true;
  const std::size_t extent[3] = {2, 3, 4};
  std::size_t count = 1;
  for (int i = 0; i < 3; ++i) count *= gone[i] ? 1 : extent[i];
  std::vector<std::vector<double>> groups(count);
  for (std::size_t i = 0; i < 24; ++i) {
    const std::size_t index[3] = {i / 12, i / 4 % 3, i % 4};
    std::size_t at = 0;
    for (int axis = 0; axis < 3; ++axis)
      if (!gone[axis]) at = at * extent[axis] + index[axis];
    groups[at].push_back(x[i]);
  }
  return groups;
}

TEST_CASE("A-09: every choice of axes in every order has the value and the gradient that it should") {
  const std::vector<Dims> choices = all_choices(3);
  CHECK(choices.size() == 1 + 6 + 6 * 4 + 6 * 4 * 2);
  for (const Reduction& r : kReductions) {
    CAPTURE(r.name);
    for (const Dims& axes : choices) {
      CAPTURE(axes.str());
      for (const bool keepdim : {false, true}) {
        for (const Variable& x : {leaf({2, 3, 4}), transposed_leaf({2, 3, 4})}) {
          const Variable y = r.apply(x, axes, keepdim);
          CHECK(y.rank() == (keepdim ? 3 : axes.empty() ? 0 : 3 - axes.size()));
          const auto groups = groups_of(values(x), axes);
          const std::vector<double> ys = values(y);
          REQUIRE(ys.size() == groups.size());
          for (std::size_t i = 0; i < ys.size(); ++i)
            CHECK(ys[i] == doctest::Approx(r.of(groups[i])).epsilon(1e-12));
        }
      }
      // The gradient does not depend on the order in which axes are named, nor does keepdim change its numbers.
      const Variable x = leaf({2, 3, 4});
      const GradcheckResult check =
          gradcheck([&](const std::vector<Variable>& in) { return r.apply(in[0], axes, false); }, {x});
      CHECK_MESSAGE(check.ok, check.str());
      CHECK(gradient_of(r.apply(x, axes, true), x) == gradient_of(r.apply(x, axes, false), x));
    }
  }
}

TEST_CASE("A-09: one axis alone, axes twice, axes that are not there") {
  for (const Reduction& r : kReductions) {
    CAPTURE(r.name);
    check_gradients([&](const auto& in) { return r.apply(in[0], {0}, false); }, {leaf({5})});
    const Variable x = leaf({2, 3, 4});
    for (const Dims& axes : {Dims{3}, Dims{-4}, Dims{0, 0}, Dims{1, -2}, Dims{0, 1, 2, 0}}) {
      CAPTURE(axes.str());
      CHECK_THROWS_AS(r.apply(x, axes, false), Error);
    }
    CHECK_THROWS_AS(r.apply(leaf({}), {0}, false), Error);  // a number has no axes
  }
}

}  // namespace
}  // namespace minigpt
