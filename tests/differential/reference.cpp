#include "tests/differential/reference.h"

#include <algorithm>
#include <cmath>

namespace minigpt::differential {
namespace {

// The bounds of the tape are of first order and count roundings as the library might do them, not as it does them.
constexpr double kSafety = 4;

Failure compare(const Bounded& expected, const Numbers& got, DType dtype, Statistics& statistics) {
  const double tiny = dtype == DType::f32 ? 1e-30 : 1e-290;
  if (got.size() != expected.value.size())
    return fmt::format("has {} numbers in place of {}", got.size(), expected.value.size());
  double largest = 0;
  for (double v : expected.value) largest = std::max(largest, std::abs(v));
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double tolerance = kSafety * expected.error[i] + tiny;
    const double off = std::abs(got[i] - expected.value[i]);
    ++statistics.numbers;
    statistics.loose += tolerance > 0.01 * largest && largest > 0;
    if (!(off <= tolerance))
      return fmt::format("element {} is {:.9g}, expected {:.9g} +- {:.2g}", i, got[i], expected.value[i],
                         tolerance);
    statistics.tightest = std::max(statistics.tightest, off / tolerance);
  }
  return std::nullopt;
}

std::vector<int> wanted_leaves(const Expression& e) {
  std::vector<int> values;
  for (const Leaf& leaf : e.leaves)
    if (leaf.wants_gradient) values.push_back(leaf.value);
  return values;
}

using Seeds = std::vector<std::pair<Number, double>>;

// Adds the gradients of `leaf` to `sum`, and what that rounds.
void add(Bounded& sum, const Tape& tape, const Array& leaf, double unit) {
  for (std::size_t i = 0; i < leaf.at.size(); ++i) {
    sum.value[i] += tape.gradient(leaf.at[i]);
    sum.error[i] += tape.gradient_error(leaf.at[i]) +
                    unit * (std::abs(sum.value[i]) + std::abs(tape.gradient(leaf.at[i])));
  }
}

}  // namespace

Reference reference(const Expression& e, const Rounding& rounding, bool one_by_one) {
  Tape tape(rounding);
  const std::vector<Array> arrays = evaluate(tape, e);
  Reference r;
  std::vector<Seeds> passes(1);
  for (const Root& root : e.roots) {
    if (one_by_one && !passes.back().empty()) passes.emplace_back();
    const Array& a = arrays[static_cast<std::size_t>(root.value)];
    Bounded b;
    for (std::size_t i = 0; i < a.at.size(); ++i) {
      b.value.push_back(tape.value(a.at[i]));
      b.error.push_back(tape.error(a.at[i]));
      passes.back().emplace_back(a.at[i], root.gradient.values[i]);
    }
    r.values.push_back(std::move(b));
  }
  for (const Leaf& leaf : e.leaves) {
    if (!leaf.wants_gradient) continue;
    const std::size_t n = arrays[static_cast<std::size_t>(leaf.value)].at.size();
    r.gradients.push_back({Numbers(n), Numbers(n)});
  }
  for (const Seeds& seeds : passes) {
    tape.differentiate(seeds);
    std::size_t next = 0;
    for (const Leaf& leaf : e.leaves)
      if (leaf.wants_gradient)
        add(r.gradients[next++], tape, arrays[static_cast<std::size_t>(leaf.value)],
            passes.size() > 1 ? rounding.unit : 0);
  }
  r.doubtful = tape.doubtful();
  r.stepped = tape.stepped();
  r.margin = tape.margin();
  return r;
}

Failure compare(const Expression& e, const Reference& r, const Outcome& o, DType dtype, Statistics& s) {
  for (std::size_t i = 0; i < r.values.size(); ++i)
    if (const Failure f = compare(r.values[i], o.values[i], dtype, s))
      return fmt::format("value of v{}: {}", e.roots[i].value, *f);
  if (r.doubtful) {
    ++s.near_kinks;
    return std::nullopt;
  }
  const std::vector<int> wanted = wanted_leaves(e);
  for (std::size_t i = 0; i < r.gradients.size(); ++i) {
    // No gradient means that all of it is 0.
    const Numbers got = o.gradients[i].empty() ? Numbers(r.gradients[i].value.size()) : o.gradients[i];
    if (const Failure f = compare(r.gradients[i], got, dtype, s))
      return fmt::format("gradient of v{}: {}", wanted[i], *f);
  }
  return std::nullopt;
}

}  // namespace minigpt::differential
