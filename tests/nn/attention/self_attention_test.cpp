// Self-attention without weights, with bare matrices, and with Linear layers.

#include "nn/attention/self_attention_v1.h"
#include "nn/attention/self_attention_v2.h"
#include "nn/attention/simplified_self_attention.h"
#include "tests/nn/attention/six_words.h"
#include "tests/nn/layer_testing.h"

namespace minigpt {
namespace {

using namespace testing;

TEST_CASE("simplified self-attention: the book's second word (S1)") {
  const Attention a = simplified_self_attention(Variable(six_words()));
  CHECK(row(a.weights, 1) ==
        std::vector<std::string>{"0.1385", "0.2379", "0.2333", "0.1240", "0.1082", "0.1581"});
  CHECK(row(a.out, 1) == std::vector<std::string>{"0.4419", "0.6515", "0.5683"});
  for (int t = 0; t < 6; ++t) {
    double sum = 0;
    for (int s = 0; s < 6; ++s) sum += a.weights.value().at({t, s});
    CHECK(sum == doctest::Approx(1));
  }
  check_derivatives([](const std::vector<Variable>& v) { return simplified_self_attention(v[0]).out; },
                    {leaf({2, 3, 2}, 1)});
}

TEST_CASE("self-attention v1: the book's numbers for seed 123 (S3, S4)") {
  Generator rng(123);
  SelfAttentionV1 attention(3, 2, rng);
  const Variable x(six_words());
  CHECK(row(matmul(x, attention.W_query), 1) == std::vector<std::string>{"0.4306", "1.4551"});
  const Variable out = attention.forward(x).out;
  CHECK(row(out, 0) == std::vector<std::string>{"0.2996", "0.8053"});
  CHECK(row(out, 1) == std::vector<std::string>{"0.3061", "0.8210"});
  CHECK(parameter_names(attention) == std::vector<std::string>{"W_query", "W_key", "W_value"});
  check_layer_gradients(attention, {2, 4, 3}, [&](const Variable& v) { return attention.forward(v).out; });
}

TEST_CASE("self-attention v2: the book's numbers for seed 789; copied weights make it equal v1 (S4)") {
  Generator rng(789);
  SelfAttentionV2 attention(3, 2, false, rng);
  const Variable x(six_words());
  CHECK(row(attention.forward(x).out, 0) == std::vector<std::string>{"-0.0739", "0.0713"});

  SelfAttentionV1 bare(3, 2, rng);
  bare.W_query = Variable(transpose(attention.W_query.weight.value()));
  bare.W_key = Variable(transpose(attention.W_key.weight.value()));
  bare.W_value = Variable(transpose(attention.W_value.weight.value()));
  CHECK(difference(bare.forward(x).out.value(), attention.forward(x).out.value()) < 1e-6);

  for (const bool bias : {false, true}) {
    SelfAttentionV2 other(3, 2, bias, rng);
    CHECK(parameter_names(other).size() == (bias ? 6u : 3u));
    check_layer_gradients(other, {2, 4, 3}, [&](const Variable& v) { return other.forward(v).out; });
  }
}

}  // namespace
}  // namespace minigpt
