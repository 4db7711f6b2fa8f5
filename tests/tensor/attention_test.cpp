#include "tensor/attention.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tensor/recycling.h"
#include "tensor/views.h"
#include "tests/tensor/row_testing.h"

using namespace minigpt;
using namespace minigpt::testing;

namespace {

using Numbers = std::vector<double>;

// What the tests vary.
struct Case {
  int B, T, H, D;
  double p = 0;
  double scale() const { return 1 / std::sqrt(static_cast<double>(D)); }
  int C() const { return H * D; }
  std::string str() const { return fmt::format("B {} T {} H {} D {} p {}", B, T, H, D, p); }
};

struct Mask {
  std::vector<std::uint32_t> words;
  DropoutBits bits;
  Mask(const Case& c, unsigned seed) : words(static_cast<std::size_t>((c.B * c.H * c.T * c.T + 31) / 32)) {
    std::mt19937_64 rng(seed);
    for (std::uint32_t& word : words)
      for (int k = 0; k < 32; ++k)
        word |= static_cast<std::uint32_t>(std::generate_canonical<double, 53>(rng) >= c.p) << k;
    bits = {words.data(), c.p};
  }
  const DropoutBits* get() const { return bits.p > 0 ? &bits : nullptr; }
};

struct Plain {
  Numbers out, dqkv;
};

// Attention and its gradient, one entry at a time, from the formulas in attention.h.
Plain plain_attention(const Case& c, const Numbers& qkv, const Numbers& dout, const DropoutBits* dropout) {
  const int C = c.C(), T = c.T, D = c.D;
  Plain plain{Numbers(static_cast<std::size_t>(c.B * T * C)), Numbers(qkv.size())};
  for (int b = 0; b < c.B; ++b)
    for (int h = 0; h < c.H; ++h) {
      // Index of component d of q (which = 0), k (1) or v (2) at position t; and of the output.
      const auto in = [&](int which, int t, int d) {
        return static_cast<std::size_t>((b * T + t) * 3 * C + which * C + h * D + d);
      };
      const auto at = [&](int t, int d) { return static_cast<std::size_t>((b * T + t) * C + h * D + d); };
      for (int i = 0; i < T; ++i) {
        Numbers s(static_cast<std::size_t>(i) + 1), f(s.size(), 1), dp(s.size());
        for (int j = 0; j <= i; ++j) {
          const std::size_t J = static_cast<std::size_t>(j);
          for (int d = 0; d < D; ++d) s[J] += c.scale() * qkv[in(0, i, d)] * qkv[in(1, j, d)];
          const std::int64_t bit = (static_cast<std::int64_t>(b * c.H + h) * T + i) * T + j;
          if (dropout) f[J] = dropout->words[bit / 32] >> (bit % 32) & 1 ? 1 / (1 - dropout->p) : 0;
        }
        const double top = *std::max_element(s.begin(), s.end());
        double sum = 0;
        for (double& x : s) sum += x = std::exp(x - top);
        double delta = 0;
        for (int j = 0; j <= i; ++j) {
          const std::size_t J = static_cast<std::size_t>(j);
          s[J] /= sum;
          for (int d = 0; d < D; ++d) {
            plain.out[at(i, d)] += s[J] * f[J] * qkv[in(2, j, d)];
            plain.dqkv[in(2, j, d)] += s[J] * f[J] * dout[at(i, d)];
            dp[J] += f[J] * dout[at(i, d)] * qkv[in(2, j, d)];
          }
          delta += s[J] * dp[J];
        }
        for (int j = 0; j <= i; ++j) {
          const std::size_t J = static_cast<std::size_t>(j);
          const double ds = s[J] * (dp[J] - delta) * c.scale();
          for (int d = 0; d < D; ++d) {
            plain.dqkv[in(0, i, d)] += ds * qkv[in(1, j, d)];
            plain.dqkv[in(1, j, d)] += ds * qkv[in(0, i, d)];
          }
        }
      }
    }
  return plain;
}

template <class T>
void check_case(const Case& c, double tolerance) {
  INFO(c.str());
  const Tensor qkv = random_tensor<T>({c.B, c.T, 3 * c.C()}, 1),
               dout = random_tensor<T>({c.B, c.T, c.C()}, 2);
  const Mask mask(c, 3);
  const Plain plain = plain_attention(c, values(qkv), values(dout), mask.get());
  const AttentionOutput y = causal_attention(qkv, c.H, c.scale(), mask.get());
  CHECK(worst_error(values(y.out), plain.out) < tolerance);
  const Tensor d = causal_attention_backward(qkv, y.out, y.log_sum_exp, dout, c.H, c.scale(), mask.get());
  CHECK(worst_error(values(d), plain.dqkv) < tolerance);
}

}  // namespace

TEST_CASE("attention and its gradient equal the plain double loop") {
  for_each_kernel_set([] {
    for (const int T : {1, 2, 5, 31, 63, 64, 65, 130})
      for (const double p : {0.0, 0.2}) {
        check_case<double>({2, T, 3, 5, p}, 1e-12);
        check_case<double>({1, T, 2, 16, p}, 1e-12);
        check_case<float>({1, T, 2, 8, p}, 2e-5);
      }
    for (const int D : {1, 3, 7, 33}) check_case<double>({1, 67, 2, D, 0.5}, 1e-12);
  });
}

TEST_CASE("the gradient agrees with central differences") {
  const Case c{2, 5, 2, 3, 0.3};
  Tensor qkv = random_tensor<double>({c.B, c.T, 3 * c.C()}, 4);
  const Tensor dout = random_tensor<double>({c.B, c.T, c.C()}, 5);
  const Mask mask(c, 6);
  const auto loss = [&] {
    const Numbers out = values(causal_attention(qkv, c.H, c.scale(), mask.get()).out), weight = values(dout);
    double sum = 0;
    for (std::size_t i = 0; i < out.size(); ++i) sum += out[i] * weight[i];
    return sum;
  };
  const AttentionOutput y = causal_attention(qkv, c.H, c.scale(), mask.get());
  const Numbers d =
      values(causal_attention_backward(qkv, y.out, y.log_sum_exp, dout, c.H, c.scale(), mask.get()));
  constexpr double kStep = 1e-5;
  for (std::int64_t i = 0; i < qkv.numel(); ++i) {
    double& x = qkv.mutable_data<double>()[i];
    const double before = x;
    x = before + kStep;
    const double above = loss();
    x = before - kStep;
    const double below = loss();
    x = before;
    CHECK(d[static_cast<std::size_t>(i)] == doctest::Approx((above - below) / (2 * kStep)).epsilon(1e-6));
  }
}

TEST_CASE("scores are scaled by the size of a head, not by the width") {
  // q = k = 1 everywhere at position 1, k = 0 at position 0: the scores are 0 and D * scale = sqrt(D).
  for (const int heads : {1, 2, 4, 8}) {
    const int C = 8, D = C / heads;
    Tensor qkv = ones({1, 2, 3 * C}, DType::f64);
    slice(select(qkv, 1, 0), 1, C, 2 * C).fill_(0);
    slice(select(qkv, 1, 0), 1, 2 * C, 3 * C).fill_(0);
    const Tensor out = causal_attention(qkv, heads, 1 / std::sqrt(static_cast<double>(D))).out;
    const double weight = 1 / (1 + std::exp(-std::sqrt(static_cast<double>(D))));
    for (const double x : values(select(out, 1, 1))) CHECK(x == doctest::Approx(weight));
  }
}

TEST_CASE(
    "the future cannot be seen: what comes after t changes no earlier row, and gets no gradient from it") {
  for_each_kernel_set([] {
    for (const double later : {-5.0, 1e30, std::numeric_limits<double>::quiet_NaN()})
      for (const int t : {1, 2, 63, 64, 65, 257, 299}) {
        CAPTURE(t);
        CAPTURE(later);
        const Case c{1, 300, 2, 6};
        const Tensor qkv = random_tensor<float>({c.B, c.T, 3 * c.C()}, 7);
        Tensor changed = qkv.clone();
        slice(changed, 1, t, c.T).fill_(later);
        const AttentionOutput a = causal_attention(qkv, c.H, c.scale()),
                              b = causal_attention(changed, c.H, c.scale());
        CHECK(bitwise_equal(slice(a.out, 1, 0, t), slice(b.out, 1, 0, t)));
        CHECK(bitwise_equal(slice(a.log_sum_exp, 2, 0, t), slice(b.log_sum_exp, 2, 0, t)));

        Tensor dout = zeros({c.B, c.T, c.C()});
        slice(dout, 1, 0, t).fill_(1);
        const Tensor d = causal_attention_backward(qkv, a.out, a.log_sum_exp, dout, c.H, c.scale());
        for (const double x : values(slice(d, 1, t, c.T))) CHECK(x == 0);
      }
  });
}

TEST_CASE("NaN at a position reaches that position and all later ones") {
  Tensor qkv = random_tensor<float>({1, 70, 12}, 8);
  select(select(qkv, 1, 66), 1, 8).fill_(std::numeric_limits<double>::quiet_NaN());  // one value of head 0
  const Tensor out = causal_attention(qkv, 2, 0.7).out;
  for (int t = 0; t < 70; ++t) CHECK(std::isnan(out.at({0, t, 0})) == (t >= 66));
  for (int t = 0; t < 70; ++t) CHECK(!std::isnan(out.at({0, t, 2})));
}

TEST_CASE("huge scores pick one key and keep gradients finite") {
  const Tensor qkv = random_tensor<float>({1, 40, 24}, 9, 1e6);
  const AttentionOutput y = causal_attention(qkv, 2, 0.5);
  const Tensor d = causal_attention_backward(qkv, y.out, y.log_sum_exp, ones({1, 40, 8}), 2, 0.5);
  for (const double x : values(y.out)) CHECK(std::isfinite(x));
  for (const double x : values(d)) CHECK(std::isfinite(x));
}

TEST_CASE("dropout with p = 1 gives zeros and no gradient, with p = 0 and full bits nothing changes") {
  const Case c{1, 33, 2, 4};
  const Tensor qkv = random_tensor<double>({c.B, c.T, 3 * c.C()}, 10),
               dout = ones({c.B, c.T, c.C()}, DType::f64);
  std::vector<std::uint32_t> words(static_cast<std::size_t>((2 * 33 * 33 + 31) / 32), 0u);
  const DropoutBits none{words.data(), 1};
  const AttentionOutput y = causal_attention(qkv, c.H, c.scale(), &none);
  CHECK(values(y.out) == Numbers(values(y.out).size(), 0.0));
  const Tensor d = causal_attention_backward(qkv, y.out, y.log_sum_exp, dout, c.H, c.scale(), &none);
  CHECK(values(d) == Numbers(values(d).size(), 0.0));
  std::fill(words.begin(), words.end(), ~0u);
  const DropoutBits all{words.data(), 0};
  CHECK(bitwise_equal(causal_attention(qkv, c.H, c.scale(), &all).out,
                      causal_attention(qkv, c.H, c.scale()).out));
}

TEST_CASE("the number of threads does not change a bit") {
  const Case c{3, 70, 4, 5, 0.2};
  const Tensor qkv = random_tensor<float>({c.B, c.T, 3 * c.C()}, 11),
               dout = random_tensor<float>({c.B, c.T, c.C()}, 12);
  const Mask mask(c, 13);
  for_each_kernel_set([&] {
    check_threads_do_not_matter([&] {
      const AttentionOutput y = causal_attention(qkv, c.H, c.scale(), mask.get());
      return std::vector<Tensor>{
          y.out, y.log_sum_exp,
          causal_attention_backward(qkv, y.out, y.log_sum_exp, dout, c.H, c.scale(), mask.get())};
    });
  });
}

TEST_CASE("steady state allocates nothing from the system") {
  const ScopedNumThreads one(1);
  const Tensor qkv = random_tensor<float>({2, 70, 24}, 14), dout = random_tensor<float>({2, 70, 8}, 15);
  const auto step = [&] {
    const AttentionOutput y = causal_attention(qkv, 2, 0.5);
    causal_attention_backward(qkv, y.out, y.log_sum_exp, dout, 2, 0.5);
  };
  step();
#if !defined(MINIGPT_ASAN)  // which needs to see every allocation, so that blocks are not recycled
  const std::int64_t before = memory_stats().system_allocations;
  step();
  CHECK(memory_stats().system_allocations == before);
#endif
}

TEST_CASE("unusable operands are refused") {
  CHECK_THROWS_WITH_AS(causal_attention(zeros({2, 3, 300}), 12, 1),
                       "[causal_attention] width 100 cannot be divided into 12 heads", Error);
  CHECK_THROWS_WITH_AS(causal_attention(zeros({2, 3, 12}), 0, 1),
                       "[causal_attention] needs at least one head, got 0", Error);
  CHECK_THROWS_WITH_AS(causal_attention(zeros({2, 3, 10}), 1, 1),
                       "[causal_attention] the last extent of qkv must be 3C, got 10", Error);
  CHECK_THROWS_WITH_AS(causal_attention(zeros({2, 12}), 1, 1),
                       "[causal_attention] qkv must be (B, T, 3C), got (2, 12)", Error);
  const DropoutBits bad{nullptr, 1.5};
  CHECK_THROWS_WITH_AS(causal_attention(zeros({2, 3, 12}), 1, 1, &bad),
                       "[causal_attention] dropout must be in [0, 1], got 1.5", Error);
  CHECK(causal_attention(zeros({2, 0, 12}), 2, 1).out.shape() == Shape{2, 0, 4});
}
