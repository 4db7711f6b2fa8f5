#include "nn/attention/scaled_dot_product_attention.h"

#include "nn/dropout_stream.h"
#include "tests/autograd/op_testing.h"

namespace minigpt {
namespace {

using namespace testing;

Tensor may_attend(std::initializer_list<bool> values, const Shape& shape) {
  return Tensor::from<bool>(values, shape);
}

Op attend(const AttentionOptions& options) {
  return [options](const std::vector<Variable>& v) {
    return scaled_dot_product_attention(v[0], v[1], v[2], options).out;
  };
}

// q, k, v with T queries and S keys, of width D.
std::vector<Variable> inputs(std::int64_t B, std::int64_t H, std::int64_t T, std::int64_t S, std::int64_t D) {
  return {leaf({B, H, T, D}, 1), leaf({B, H, S, D}, 2), leaf({B, H, S, D}, 3)};
}

TEST_CASE("attention: equal keys share the attention, and the result is the mean of the values") {
  const Variable q = leaf({1, 1, 1, 2}, 1), k(zeros({1, 1, 4, 2}, DType::f64)),
                 v(Tensor::from<double>({1, 2, 3, 6}, {1, 1, 4, 1}));
  const Attention a = scaled_dot_product_attention(q, k, v);
  CHECK(difference(a.weights.value(), full({1, 1, 1, 4}, 0.25, DType::f64)) < 1e-15);
  CHECK(a.out.item() == doctest::Approx(3));
}

TEST_CASE("attention: scores are scaled by the width of one head, whatever the number of heads (M-02)") {
  for (std::int64_t heads : {1, 2, 4, 8}) {
    CAPTURE(heads);
    const std::int64_t D = 8 / heads;
    // One query of ones; the first key is ones too, the second is zero: scores D / sqrt(D) = sqrt(D) and 0.
    Tensor k = zeros({1, heads, 2, D}, DType::f64);
    slice(k, 2, 0, 1).fill_(1);
    const Variable q(ones({1, heads, 1, D}, DType::f64)), keys(k);
    const double e = std::exp(std::sqrt(static_cast<double>(D)));
    const Attention a = scaled_dot_product_attention(q, keys, keys);
    for (std::int64_t h = 0; h < heads; ++h)
      CHECK(a.weights.value().at({0, h, 0, 0}) == doctest::Approx(e / (e + 1)));

    AttentionOptions given;
    given.scale = 0;  // every score is 0
    CHECK(scaled_dot_product_attention(q, keys, keys, given).weights.value().at({0, 0, 0, 0}) == 0.5);
  }
}

TEST_CASE("attention: derivatives with every combination of options") {
  DropoutStream masks = DropoutStream::counter(1);
  for (bool causal : {false, true}) {
    for (bool masked : {false, true}) {
      for (double p : {0.0, 0.3}) {
        CAPTURE(causal);
        CAPTURE(masked);
        CAPTURE(p);
        AttentionOptions options;
        options.causal = causal;
        if (masked) options.mask = may_attend({true, false, true, true, true, false}, {2, 1, 1, 3});
        options.dropout = masks.next({2, 2, 3, 3}, p);
        check_derivatives(attend(options), inputs(2, 2, 3, 3, 2));
        check_layouts(attend(options), inputs(2, 2, 3, 3, 2));
      }
    }
  }
  check_derivatives(attend({}), inputs(1, 2, 2, 4, 3));  // cross attention: 2 queries, 4 keys
}

TEST_CASE("attention: a float mask is added to the scores, and -inf hides as false does") {
  constexpr double kHidden = -std::numeric_limits<double>::infinity();
  const std::vector<Variable> in = inputs(2, 2, 3, 3, 2);
  for (bool causal : {false, true}) {
    CAPTURE(causal);
    AttentionOptions as_bool, as_float, penalty;
    as_bool.causal = as_float.causal = penalty.causal = causal;
    as_bool.mask = may_attend({true, false, true, true, true, false}, {2, 1, 1, 3});
    as_float.mask = Tensor::from<float>({0, -INFINITY, 0, 0, 0, -INFINITY}, {2, 1, 1, 3});
    check_agree(attend(as_float), attend(as_bool), in, 0);
    // Another one for each head, with a key that is hidden from the first query.
    penalty.mask = random({2, 3, 3}, 9);
    slice(slice(penalty.mask, 1, 0, 1), 2, 1, 2).fill_(kHidden);
    check_derivatives(attend(penalty), in);
    check_layouts(attend(penalty), in);
    const Tensor w = scaled_dot_product_attention(in[0], in[1], in[2], penalty).weights.value();
    CHECK(w.at({0, 0, 0, 1}) == 0);
    CHECK(w.at({1, 1, 0, 1}) == 0);
  }
  // log 2 doubles the odds.
  AttentionOptions twice;
  twice.mask = Tensor::from<double>({std::log(2.0), 0}, {2});
  const Variable q(zeros({1, 2}, DType::f64)), k(zeros({2, 2}, DType::f64));
  CHECK(scaled_dot_product_attention(q, k, k, twice).weights.value().at({0, 0}) == doctest::Approx(2.0 / 3));
}

TEST_CASE("attention: the weights can be differentiated too") {
  check_derivatives(
      [](const std::vector<Variable>& v) { return scaled_dot_product_attention(v[0], v[1], v[1]).weights; },
      {leaf({1, 2, 3, 2}, 1), leaf({1, 2, 3, 2}, 2)});
}

TEST_CASE("attention: causal weights are exactly 0 in the future, and rows add up to 1 (M-03)") {
  AttentionOptions options;
  options.causal = true;
  const std::vector<Variable> in = inputs(2, 2, 5, 5, 4);
  const Tensor w = scaled_dot_product_attention(in[0], in[1], in[2], options).weights.value();
  for (int b = 0; b < 2; ++b) {
    for (int h = 0; h < 2; ++h) {
      for (int t = 0; t < 5; ++t) {
        double sum = 0;
        for (int s = 0; s < 5; ++s) {
          sum += w.at({b, h, t, s});
          if (s > t) CHECK(w.at({b, h, t, s}) == 0);
        }
        CHECK(sum == doctest::Approx(1).epsilon(1e-12));
      }
    }
  }
}

TEST_CASE("attention: no position sees the future, in value or in gradient (M-04)") {
  AttentionOptions options;
  options.causal = true;
  for (std::int64_t T : {1, 2, 7, 8}) {
    std::vector<Variable> in = inputs(1, 2, T, T, 4);
    const Tensor before = attend(options)(in).value().clone();
    for (std::int64_t t = 0; t + 1 < T; ++t) {
      CAPTURE(T);
      CAPTURE(t);
      // Everything after t is replaced.
      std::vector<Variable> changed;
      for (const Variable& x : in) {
        Tensor y = x.value().clone();
        slice(y, 2, t + 1, T).copy_(random({1, 2, T - t - 1, 4}, 50));
        changed.push_back(leaf(y));
      }
      CHECK(difference(slice(attend(options)(changed).value(), 2, 0, t + 1), slice(before, 2, 0, t + 1)) ==
            0);
      // The gradient of the result at t reaches nothing behind it.
      Tensor dy = zeros({1, 2, T, 4}, DType::f64);
      slice(dy, 2, t, t + 1).fill_(1);
      for (const Tensor& g : outcome(attend(options), in, dy).gradients)
        CHECK(difference(slice(g, 2, t + 1, T), zeros({1, 2, T - t - 1, 4}, DType::f64)) == 0);
    }
  }
}

TEST_CASE("attention: a row that may attend to nothing is 0 throughout, and disturbs no other row (M-01)") {
  // Causal, and position 0 is padding: query 0 has nothing left.
  AttentionOptions padded, added;
  padded.causal = added.causal = true;
  padded.mask = may_attend({false, true, true}, {1, 1, 1, 3});
  added.mask = Tensor::from<double>({-INFINITY, 0, 0}, {1, 1, 1, 3});
  const std::vector<Variable> in = inputs(1, 1, 3, 3, 2);
  check_agree(attend(added), attend(padded), in, 0);
  const Attention a = scaled_dot_product_attention(in[0], in[1], in[2], padded);
  CHECK(difference(slice(a.out.value(), 2, 0, 1), zeros({1, 1, 1, 2}, DType::f64)) == 0);
  CHECK(difference(slice(a.weights.value(), 2, 0, 1), zeros({1, 1, 1, 3}, DType::f64)) == 0);
  // Query 1 sees key 1 alone.
  CHECK(difference(slice(a.out.value(), 2, 1, 2), slice(in[2].value(), 2, 1, 2)) == 0);
  for (bool create_graph : {false, true}) {
    const Outcome o = outcome(attend(padded), in, Tensor(), create_graph);
    for (const Tensor& g : o.gradients) CHECK(all_finite(g));
    CHECK(difference(slice(o.gradients[0], 2, 0, 1), zeros({1, 1, 1, 2}, DType::f64)) == 0);
    // Key and value 0 are seen by nobody.
    for (int i : {1, 2})
      CHECK(difference(slice(o.gradients[i], 2, 0, 1), zeros({1, 1, 1, 2}, DType::f64)) == 0);
  }
  // Rows without a hidden key are bit for bit what they are in a batch without the masked one.
  AttentionOptions batch;
  batch.mask = may_attend({true, true, true, false, false, false}, {2, 1, 1, 3});
  const std::vector<Variable> two = inputs(2, 1, 3, 3, 2);
  const Tensor with = attend(batch)(two).value(), without = attend({})(two).value();
  CHECK(difference(slice(with, 0, 0, 1), slice(without, 0, 0, 1)) == 0);
  CHECK(difference(slice(with, 0, 1, 2), zeros({1, 1, 3, 2}, DType::f64)) == 0);
}

TEST_CASE("attention: hidden scores may hold NaN; visible ones are not hidden (M-01)") {
  Tensor k = random({1, 1, 2, 2}, 2);
  slice(k, 2, 1, 2).fill_(std::numeric_limits<double>::quiet_NaN());
  const Variable q = leaf({1, 1, 2, 2}, 1), keys(k), v = leaf({1, 1, 2, 2}, 3);
  AttentionOptions first_only, added;
  first_only.mask = may_attend({true, false}, {2});
  added.mask = Tensor::from<double>({0, -INFINITY}, {2});
  CHECK(all_finite(scaled_dot_product_attention(q, keys, v, added).out.value()));
  CHECK(all_finite(scaled_dot_product_attention(q, keys, v, first_only).out.value()));
  CHECK(std::isnan(scaled_dot_product_attention(q, keys, v).out.value().at({0, 0, 0, 0})));
}

TEST_CASE("attention: dropout acts on the weights that are applied, not on those that are shown") {
  AttentionOptions options;
  options.dropout = {Tensor(), 1};
  const std::vector<Variable> in = inputs(1, 1, 2, 2, 2);
  const Attention a = scaled_dot_product_attention(in[0], in[1], in[2], options);
  CHECK(difference(a.out.value(), zeros({1, 1, 2, 2}, DType::f64)) == 0);
  CHECK(a.weights.value().at({0, 0, 0, 0}) > 0);
  options.need_weights = false;
  CHECK(!scaled_dot_product_attention(in[0], in[1], in[2], options).weights.defined());
}

TEST_CASE("attention: errors name what does not fit") {
  const Variable q = leaf({1, 1, 2, 4}, 1);
  CHECK_THROWS_AS(scaled_dot_product_attention(q, leaf({1, 1, 2, 3}, 2), leaf({1, 1, 2, 4}, 3)), Error);
  CHECK_THROWS_AS(scaled_dot_product_attention(q, leaf({1, 1, 3, 4}, 2), leaf({1, 1, 2, 4}, 3)), Error);
  CHECK_THROWS_AS(scaled_dot_product_attention(leaf({4}, 1), q, q), Error);
  AttentionOptions options;
  options.mask = ones({2, 2}, DType::i32);  // neither bool nor floating
  CHECK_THROWS_AS(scaled_dot_product_attention(q, q, q, options), Error);
  options.mask = may_attend({true, true, true}, {3});
  CHECK_THROWS_AS(scaled_dot_product_attention(q, q, q, options), Error);
  options.mask = may_attend({true, true}, {2, 1, 1, 1});  // larger than the scores
  CHECK_THROWS_AS(scaled_dot_product_attention(q, q, q, options), Error);
}

}  // namespace
}  // namespace minigpt
