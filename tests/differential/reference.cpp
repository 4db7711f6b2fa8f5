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

}  // namespace

Reference reference(const Expression& e, const Rounding& rounding) {
  Tape tape(rounding);
  const std::vector<Array> arrays = evaluate(tape, e);
  Reference r;
  std::vector<std::pair<Number, double>> seeds;
  for (const Root& root : e.roots) {
    const Array& a = arrays[static_cast<std::size_t>(root.value)];
    Bounded b;
    for (std::size_t i = 0; i < a.at.size(); ++i) {
      b.value.push_back(tape.value(a.at[i]));
      b.error.push_back(tape.error(a.at[i]));
      seeds.emplace_back(a.at[i], root.gradient.values[i]);
    }
    r.values.push_back(std::move(b));
  }
  tape.differentiate(seeds);
  for (const Leaf& leaf : e.leaves) {
    if (!leaf.wants_gradient) continue;
    Bounded b;
    for (Number n : arrays[static_cast<std::size_t>(leaf.value)].at) {
      b.value.push_back(tape.gradient(n));
      b.error.push_back(tape.gradient_error(n));
    }
    r.gradients.push_back(std::move(b));
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
