#include "autograd/ops/dropout.h"

#include <limits>

#include "tensor/dropout_mask.h"
#include "tests/autograd/op_testing.h"

namespace minigpt {
namespace {

using namespace testing;

// Keeps elements 0, 2, 3, 5 and 33 of 34.
DropoutMask by_hand(double p) { return {Tensor::from<std::int32_t>({0b101101, 0b10}, {2}), p}; }

DropoutMask drawn(std::int64_t n, double p) {
  Tensor bits = Tensor::empty({mask_words(n)}, DType::i32);
  philox_keep_bits(reinterpret_cast<std::uint32_t*>(bits.mutable_data<std::int32_t>()), n, p, {.seed = 1});
  return {bits, p};
}

Op drop(const DropoutMask& mask) {
  return [mask](const std::vector<Variable>& v) { return dropout(v[0], mask); };
}

TEST_CASE("dropout: kept elements grow by 1 / (1 - p), the others become 0; so do their gradients") {
  const Outcome o =
      outcome(drop(by_hand(0.2)), {leaf(ones({2, 17}, DType::f64))}, full({2, 17}, 4, DType::f64));
  for (int i = 0; i < 34; ++i) {
    CAPTURE(i);
    const bool kept = i == 0 || i == 2 || i == 3 || i == 5 || i == 33;
    CHECK(o.value.at({i / 17, i % 17}) == (kept ? 1.25 : 0.0));
    CHECK(o.gradients[0].at({i / 17, i % 17}) == (kept ? 5.0 : 0.0));
  }
}

TEST_CASE("dropout: derivatives; the mask follows the index of an element, not its place in memory") {
  for (std::int64_t n : {1, 3, 4, 31, 32, 33, 70}) {
    CAPTURE(n);
    check_derivatives(drop(drawn(n, 0.5)), {leaf({n}, 1)});
    check_layouts(drop(drawn(2 * n, 0.5)), {leaf({2, n}, 1)});
  }
}

TEST_CASE("dropout: p = 0 is the identity (N-07)") {
  const Variable x = leaf({5}, 1);
  CHECK(dropout(x, DropoutMask{}).is(x));
}

TEST_CASE("dropout: p = 1 gives zeros and zero gradients, even of infinities (N-07)") {
  const Variable x(Tensor::from<double>({1, -2, INFINITY}, {3}), true);
  for (const DropoutMask& mask : {drawn(3, 1), DropoutMask{Tensor(), 1}}) {
    const Outcome o = outcome(drop(mask), {x}, full({3}, INFINITY, DType::f64));
    CHECK(difference(o.value, zeros({3}, DType::f64)) == 0);
    CHECK(difference(o.gradients[0], zeros({3}, DType::f64)) == 0);
  }
}

TEST_CASE("dropout: probabilities outside [0, 1] are refused (N-07)") {
  for (double p : {-0.1, 1.1, std::numeric_limits<double>::quiet_NaN()})
    CHECK_THROWS_AS(dropout(leaf({34}, 1), by_hand(p)), Error);
}

TEST_CASE("dropout: a mask of another size is refused") {
  CHECK_THROWS_AS(dropout(leaf({3, 33}, 1), by_hand(0.5)), Error);
  CHECK_THROWS_AS(dropout(leaf({34}, 1), DropoutMask{Tensor(), 0.5}), Error);
}

TEST_CASE("dropout: a mask that changes between forward and backward is noticed") {
  DropoutMask mask = drawn(8, 0.5);
  const Variable y = dropout(leaf({8}, 1), mask);
  mask.bits.fill_(0);
  BackwardOptions options;
  options.gradient = Variable(ones({8}, DType::f64));
  CHECK_THROWS_WITH_AS(y.backward(options), doctest::Contains("[dropout]"), Error);
}

TEST_CASE("dropout: the mean survives, and the backward pass has the same mask and scale (N-07)") {
  const std::int64_t n = 1000000;
  const Variable x(ones({n}), true);
  const Outcome o = outcome(drop(drawn(n, 0.1)), {x}, ones({n}));
  double sum = 0;
  for (float v : o.value.to_vector<float>()) sum += v;
  CHECK(sum / static_cast<double>(n) == doctest::Approx(1).epsilon(0.002));
  CHECK(difference(o.gradients[0], o.value) == 0);
}

}  // namespace
}  // namespace minigpt
