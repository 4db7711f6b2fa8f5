#include "models/evaluate.h"

#include <doctest/doctest.h>

#include <cmath>

#include "models/text_dataset.h"
#include "tests/models/tiny_models.h"

namespace minigpt {
namespace {

std::vector<std::int32_t> tokens_of(std::int64_t n, std::int64_t vocab, std::uint64_t seed = 3) {
  std::vector<std::int32_t> tokens(static_cast<std::size_t>(n));
  Generator rng(seed);
  rng.randint(std::span<std::int32_t>(tokens), 0, vocab);
  return tokens;
}

// -ln p of the last of `context`'s successors, one forward pass at a time.
double surprise(const Gpt& gpt, std::span<const std::int32_t> context, std::int32_t next) {
  const Variable out =
      gpt.forward(Tensor::from<std::int32_t>(context, {1, static_cast<std::int64_t>(context.size())}));
  const std::vector<double> all = out.value().to_vector<double>();
  const auto logits = std::span(all).last(static_cast<std::size_t>(gpt.config.vocab_size));
  double total = 0;
  for (const double v : logits) total += std::exp(v);
  return std::log(total) - logits[static_cast<std::size_t>(next)];
}

// The rule, token by token. The first `block` predictions see all that precedes them. Later windows move on by half a
// block and end with what they count, so the prediction of token i sees what its window holds before i.
double naive_nats(const Gpt& gpt, std::span<const std::int32_t> tokens) {
  const auto n = static_cast<std::int64_t>(tokens.size()), block = gpt.config.block_size, stride = block / 2;
  double nats = 0;
  for (std::int64_t i = 1; i < n; ++i) {
    std::int64_t start = 0;
    if (i > block) {
      const std::int64_t window_end = std::min(block + (i - block + stride - 1) / stride * stride, n - 1);
      start = window_end - block;
    }
    nats +=
        surprise(gpt, tokens.subspan(static_cast<std::size_t>(start), static_cast<std::size_t>(i - start)),
                 tokens[static_cast<std::size_t>(i)]);
  }
  return nats;
}

TEST_CASE("evaluate: a text's score is the sum over its tokens, each counted once, of any length") {
  GptConfig config = test::tiny_config();
  config.block_size = 6;
  const Gpt gpt = test::lively_model(config, 5);
  for (const std::int64_t n : {2, 3, 6, 7, 8, 10, 12, 13, 31, 1500}) {
    INFO("length " << n);
    const std::vector<std::int32_t> tokens = tokens_of(n, config.vocab_size);
    const TextScore score = score_text(gpt, tokens);
    CHECK(score.count == n - 1);
    if (n < 100) CHECK(score.nats == doctest::Approx(naive_nats(gpt, tokens)).epsilon(1e-10));
  }
  for (const std::int64_t n : {0, 1})
    CHECK_THROWS_AS(score_text(gpt, tokens_of(n, config.vocab_size)), Error);
}

TEST_CASE("evaluate: a model that knows nothing scores ln V nats, log2 V bits and a perplexity of V") {
  GptConfig config = test::tiny_config();
  config.vocab_size = 8;
  Generator rng(1);
  Gpt gpt(config, rng);
  for (NamedParameter& p : gpt.parameters()) init::zeros_(p.variable);
  const TextScore score = score_text(gpt, tokens_of(50, 8));
  CHECK(score.loss() == doctest::Approx(std::log(8.0)).epsilon(1e-6));
  CHECK(score.bits() == doctest::Approx(3).epsilon(1e-6));
  CHECK(score.perplexity() == doctest::Approx(8).epsilon(1e-6));
}

TEST_CASE("evaluate: nothing is recorded and dropout is off") {
  GptConfig config = test::tiny_config();
  config.dropout = 0.9;
  const Gpt gpt = test::lively_model(config, 5);
  const std::vector<std::int32_t> tokens = tokens_of(40, config.vocab_size);
  CHECK(score_text(gpt, tokens).nats == score_text(gpt, tokens).nats);
  CHECK(recording());
}

TEST_CASE("evaluate: documents are scored one by one, their ends included") {
  const GptConfig config = test::tiny_config();  // block 4; id 4 separates
  const Gpt gpt = test::lively_model(config, 6);
  constexpr std::int32_t kDoc = 4;
  const std::vector<std::int32_t> stream = {kDoc, 1, 2, kDoc, 3, kDoc, 0, 1, 2, 3, 1, 0, kDoc};
  const std::vector<std::vector<std::int32_t>> documents = {
      {kDoc, 1, 2, kDoc}, {kDoc, 3, kDoc}, {kDoc, 0, 1, 2, 3, 1, 0, kDoc}};
  double nats = 0;
  for (const auto& d : documents) nats += naive_nats(gpt, d);
  const TextScore score = score_documents(gpt, stream, kDoc);
  CHECK(score.count == 3 + 2 + 7);
  CHECK(score.nats == doctest::Approx(nats).epsilon(1e-10));
  // As one text they would be something else: contexts would reach over the ends.
  CHECK(score_text(gpt, stream).nats != doctest::Approx(nats).epsilon(1e-4));
}

}  // namespace
}  // namespace minigpt
