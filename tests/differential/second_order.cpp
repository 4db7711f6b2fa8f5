#include "tests/differential/second_order.h"

#include <cmath>

#include "tests/differential/run.h"

namespace minigpt::differential {
namespace {

using Numbers = std::vector<double>;

// Gradients of the specification where every leaf that wants one has moved by `distance` times its direction.
struct Moved {
  std::vector<Numbers> gradients;
  double error = 0;  // the largest of their bounds
  std::uint64_t branches = 0;
};
Moved moved(const Expression& e, const std::vector<Numbers>& directions, double distance) {
  Expression there = e;
  std::size_t next = 0;
  for (Leaf& leaf : there.leaves) {
    if (!leaf.wants_gradient) continue;
    const Numbers& d = directions[next++];
    for (std::size_t i = 0; i < d.size(); ++i) leaf.stored.values[i] += distance * d[i];
  }
  Tape tape;
  const std::vector<Array> arrays = evaluate(tape, there);
  std::vector<std::pair<Number, double>> seeds;
  for (const Root& root : e.roots) {
    const Array& a = arrays[static_cast<std::size_t>(root.value)];
    for (std::size_t i = 0; i < a.at.size(); ++i) seeds.emplace_back(a.at[i], root.gradient.values[i]);
  }
  tape.differentiate(seeds);
  Moved m;
  m.branches = tape.branches();
  for (const Leaf& leaf : e.leaves) {
    if (!leaf.wants_gradient) continue;
    Numbers g;
    for (Number n : arrays[static_cast<std::size_t>(leaf.value)].at) {
      g.push_back(tape.gradient(n));
      m.error = std::max(m.error, tape.gradient_error(n));
    }
    m.gradients.push_back(std::move(g));
  }
  return m;
}

}  // namespace

std::optional<std::string> check_second_order(const Expression& e, Statistics& statistics) {
  std::int64_t size = 0;
  for (const Leaf& leaf : e.leaves) size += numel(leaf.stored.shape);
  Draw draw(e.seed + 4);
  if (size > 6000 || draw.chance(0.5)) return std::nullopt;
  std::vector<Numbers> directions;
  for (const Leaf& leaf : e.leaves) {
    if (!leaf.wants_gradient) continue;
    Numbers d(leaf.stored.values.size());
    for (double& v : d) v = draw.uniform(-1, 1);
    directions.push_back(std::move(d));
  }
  // With equal numbers at a kink, or a kink between the points, there is no second derivative.
  constexpr double kDistance = 1e-4;
  Moved at[4];
  const double places[4] = {kDistance, -kDistance, kDistance / 2, -kDistance / 2};
  {
    Tape tape;
    evaluate(tape, e);
    if (tape.stepped() || tape.margin() < 1e-6) return std::nullopt;
    for (int i = 0; i < 4; ++i) {
      at[i] = moved(e, directions, places[i]);
      if (at[i].branches != tape.branches()) return std::nullopt;
    }
  }
  const std::vector<Numbers> got = second_derivative(e, directions, draw.chance(0.3));
  for (std::size_t leaf = 0; leaf < directions.size(); ++leaf) {
    double largest = 0, curvature = 0;
    Numbers expected(directions[leaf].size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const double wide = (at[0].gradients[leaf][i] - at[1].gradients[leaf][i]) / (2 * kDistance);
      expected[i] = (at[2].gradients[leaf][i] - at[3].gradients[leaf][i]) / kDistance;
      largest = std::max(largest, std::abs(expected[i]));
      curvature = std::max(curvature, std::abs(wide - expected[i]));
    }
    const double noise = 8 * at[0].error / kDistance + 1e-9;
    // Where half the distance changes the difference by more than a part of it, the function bends on a smaller scale than
    // that (a norm of a row near zero), and neither difference says what the derivative is.
    if (curvature > 0.01 * largest + noise) continue;
    const double tolerance = 4 * curvature + noise + 1e-8 * largest;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const double value = got[leaf].empty() ? 0 : got[leaf][i];
      if (!(std::abs(value - expected[i]) <= tolerance))
        return fmt::format(
            "second derivative, leaf {} of those with a gradient, element {}: {:.9g}, expected {:.9g} +- "
            "{:.2g}",
            leaf, i, value, expected[i], tolerance);
    }
  }
  ++statistics.second;
  return std::nullopt;
}

}  // namespace minigpt::differential
