#include "nn/positions.h"

#include "tests/nn/layer_testing.h"

namespace minigpt {
namespace {

using namespace testing;

TEST_CASE("sinusoidal positions: the formula, also for an odd width") {
  const Tensor table = sinusoidal_positions(20, 5);
  for (int t = 0; t < 20; ++t) {
    for (int i = 0; i < 3; ++i) {
      const double angle = t / std::pow(10000.0, 2.0 * i / 5);
      CHECK(table.at({t, 2 * i}) == doctest::Approx(std::sin(angle)).epsilon(1e-6));
      if (i < 2) CHECK(table.at({t, 2 * i + 1}) == doctest::Approx(std::cos(angle)).epsilon(1e-6));
    }
  }
}

TEST_CASE("sinusoidal positions: a shift is the same rotation everywhere") {
  // sin and cos of (t + k) w from those of t w, by the angle k w.
  const Tensor p = sinusoidal_positions(40, 4);
  for (int pair = 0; pair < 2; ++pair) {
    const double w = 1 / std::pow(10000.0, pair * 2 / 4.0), k = 7;
    for (int t = 0; t < 30; ++t) {
      const double s = p.at({t, 2 * pair}), c = p.at({t, 2 * pair + 1});
      CHECK(p.at({t + 7, 2 * pair}) ==
            doctest::Approx(s * std::cos(k * w) + c * std::sin(k * w)).epsilon(1e-5));
    }
  }
}

TEST_CASE("positions are added, from a first one on, and end where the table ends") {
  Generator rng(1);
  const SinusoidalPositions waves(8, 4);
  LearnedPositions learned(8, 4, rng);
  const Variable x(random({2, 3, 4}, 1, DType::f32));
  CHECK(difference(waves.forward(x, 2).value(), add(x.value(), slice(waves.table, 0, 2, 5))) == 0);
  CHECK(difference(learned.forward(x, 2).value(), add(x.value(), slice(learned.weight.value(), 0, 2, 5))) ==
        0);
  CHECK_NOTHROW(learned.forward(x, 5));
  CHECK_THROWS_WITH_AS(learned.forward(x, 6),
                       doctest::Contains("3 positions from 6 on do not fit a table of 8"), Error);
  CHECK_THROWS_AS(waves.forward(x, 6), Error);
  CHECK_THROWS_AS(waves.forward(x, -1), Error);
  CHECK(parameter_names(learned) == std::vector<std::string>{"weight"});
  check_layer_gradients(learned, {2, 3, 4}, [&](const Variable& v) { return learned.forward(v, 1); });
  // Attention alone sees a set: without positions, swapping two words swaps two results.
  CHECK(difference(waves.forward(x).value(), waves.forward(x, 1).value()) > 0.1);
}

}  // namespace
}  // namespace minigpt
