#include "autograd/ops/causal_attention.h"

#include "tests/autograd/op_testing.h"

namespace minigpt {
namespace {

using namespace testing;

DropoutMask drawn(std::int64_t n, double p) {
  Tensor bits = Tensor::empty({mask_words(n)}, DType::i32);
  philox_keep_bits(reinterpret_cast<std::uint32_t*>(bits.mutable_data<std::int32_t>()), n, p, {.seed = 7});
  return {bits, p};
}
Op fused(int heads, const DropoutMask& mask = {}) {
  return [=](const std::vector<Variable>& v) { return causal_attention(v[0], heads, mask); };
}
Op composed(int heads, const DropoutMask& mask = {}) {
  return [=](const std::vector<Variable>& v) { return causal_attention_composed(v[0], heads, mask); };
}

TEST_CASE(
    "causal_attention: position 0 sees itself alone, position 1 both, by the scores of one head (M-02)") {
  // D = 2, q = (1, 1) everywhere; k_0 = 0, k_1 = (1, 1): position 1 has scores 0 and 2 / sqrt(2).
  const Variable qkv(Tensor::from<double>({1, 1, 0, 0, 10, 20, 1, 1, 1, 1, 30, 40}, {1, 2, 6}));
  const Tensor y = causal_attention(qkv, 1).value();
  const double p = 1 / (1 + std::exp(-std::sqrt(2.0)));
  CHECK(difference(y, Tensor::from<double>({10, 20, 10 + 20 * p, 20 + 20 * p}, {1, 2, 2})) < 1e-13);
}

TEST_CASE("causal_attention: 8 columns in 1, 2, 4 and 8 heads are scaled by the width of one head (M-02)") {
  for (const int heads : {1, 2, 4, 8}) {
    CAPTURE(heads);
    // Queries of ones; the first key is 0, the second all ones: position 1 has scores 0 and D / sqrt(D).
    Tensor qkv = zeros({1, 2, 24}, DType::f64);
    slice(qkv, 2, 0, 8).fill_(1);
    slice(slice(qkv, 1, 1, 2), 2, 8, 24).fill_(1);  // its key and its value; the first value is 0
    const double p = 1 / (1 + std::exp(-std::sqrt(8.0 / heads)));
    const Tensor y = causal_attention(Variable(qkv), heads).value();
    for (int c = 0; c < 8; ++c) CHECK(y.at({0, 1, c}) == doctest::Approx(p).epsilon(1e-12));
  }
}

TEST_CASE("causal_attention: a head as wide as the row, heads of one number, and a single position") {
  for (const auto& sizes : {std::pair{1, 1}, {1, 6}, {5, 1}, {5, 6}, {1, 3}}) {
    const int T = sizes.first, heads = sizes.second;
    CAPTURE(T);
    CAPTURE(heads);
    const Variable x = leaf({2, T, 18}, 1);
    check_agree(fused(heads), composed(heads), {x}, 1e-12);
    check_derivatives(fused(heads), {x});
    // A position that sees itself alone is its value, whatever query and key are.
    if (T == 1)
      CHECK(difference(causal_attention(x, heads).value(), slice(x.value(), 2, 12, 18).contiguous()) == 0);
  }
}

TEST_CASE("causal_attention: value and gradient agree with the composition") {
  for (std::int64_t T : {1, 2, 5, 33, 70}) {
    for (int heads : {1, 2, 4}) {
      for (double p : {0.0, 0.3}) {
        CAPTURE(T);
        CAPTURE(heads);
        CAPTURE(p);
        const DropoutMask mask = p > 0 ? drawn(2 * heads * T * T, p) : DropoutMask{};
        check_agree(fused(heads, mask), composed(heads, mask), {leaf({2, T, 24}, 1)}, 1e-11);
        check_layouts(fused(heads, mask), {leaf({2, T, 24}, 1)}, 1e-11);
      }
    }
  }
  const Variable x = leaf({2, 40, 48}, 1, DType::f32);
  check_agree(fused(2), composed(2), {x}, 2e-5);
}

TEST_CASE("causal_attention: first and second derivatives") {
  check_derivatives(fused(2), {leaf({2, 4, 12}, 1)});
  check_derivatives(fused(2, drawn(2 * 2 * 3 * 3, 0.4)), {leaf({2, 3, 12}, 1)});
}

TEST_CASE("causal_attention: no position sees the future, in value or in gradient (M-04)") {
  for (std::int64_t T : {1, 2, 15, 16}) {
    const Variable x = leaf({1, T, 24}, 1, DType::f32);
    const Tensor before = causal_attention(x, 2).value();
    for (std::int64_t t = 0; t + 1 < T; ++t) {
      CAPTURE(T);
      CAPTURE(t);
      Tensor changed = x.value().clone();
      slice(changed, 1, t + 1, T).copy_(random({1, T - t - 1, 24}, 50));
      CHECK(difference(slice(causal_attention(Variable(changed), 2).value(), 1, 0, t + 1),
                       slice(before, 1, 0, t + 1)) == 0);
      Tensor dy = zeros({1, T, 8});
      slice(dy, 1, t, t + 1).fill_(1);
      const Tensor dx = outcome(fused(2), {x}, dy).gradients[0];
      CHECK(difference(slice(dx, 1, t + 1, T), zeros({1, T - t - 1, 24})) == 0);
    }
  }
}

TEST_CASE("causal_attention: p = 1 drops everything, and a mask must fit (N-07)") {
  for (const DropoutMask& mask : {drawn(2 * 9, 1), DropoutMask{Tensor(), 1}}) {
    const Outcome o = outcome(fused(2, mask), {leaf({1, 3, 12}, 1)});
    CHECK(difference(o.value, zeros({1, 3, 4}, DType::f64)) == 0);
    CHECK(difference(o.gradients[0], zeros({1, 3, 12}, DType::f64)) == 0);
  }
  CHECK_THROWS_AS(causal_attention(leaf({1, 3, 12}, 1), 2, drawn(100, 0.5)), Error);
  CHECK_THROWS_AS(causal_attention(leaf({1, 3, 12}, 1), 2, DropoutMask{Tensor(), 0.5}), Error);
  CHECK_THROWS_AS(causal_attention(leaf({1, 3, 12}, 1), 2, DropoutMask{Tensor(), -0.5}), Error);
}

TEST_CASE("causal_attention: widths and heads must fit") {
  CHECK_THROWS_AS(causal_attention(leaf({2, 12}, 1), 2), Error);       // no batch
  CHECK_THROWS_AS(causal_attention(leaf({1, 2, 13}, 1), 2), Error);    // not 3C
  CHECK_THROWS_AS(causal_attention(leaf({1, 2, 300}, 1), 12), Error);  // 100 columns, 12 heads
  CHECK_THROWS_AS(causal_attention(leaf({1, 2, 12}, 1), 0), Error);
}

}  // namespace
}  // namespace minigpt
