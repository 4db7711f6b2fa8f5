#include "models/head_analysis.h"

#include <doctest/doctest.h>

#include <cmath>

#include "models/evaluate.h"
#include "tests/models/tiny_models.h"

namespace minigpt::test {
namespace {

// One layer of two heads whose channels are positions: after the embeddings x_i = e_i, one-hot, without normalisation gain.
// Head 0 has q_i = big e_(i-1) and k_j = e_j, so it looks at the previous token; head 1 has q = 0 and looks at all alike.
Gpt previous_token_model() {
  GptConfig config;
  config.block_size = 16;
  config.vocab_size = 8;
  config.n_layer = 1;
  config.n_head = 2;
  config.n_embd = 32;
  config.tie_weights = false;
  config.norm = "rms";
  Generator rng(1);
  Gpt gpt(config, rng);
  for (NamedParameter& p : gpt.parameters())
    if (p.name.find("ln_") == std::string::npos) p.variable.mutable_value().fill_(0);
  float* position = gpt.transformer.wpe.weight.mutable_value().mutable_data<float>();  // (16, 32)
  for (int i = 0; i < 16; ++i) position[i * 32 + i] = 1;
  float* w = gpt.transformer.h[0].attn.c_attn.weight.mutable_value().mutable_data<float>();  // (96, 32)
  for (int d = 0; d < 16; ++d) {
    if (d + 1 < 16) w[d * 32 + d + 1] = 40;  // queries of head 0 are rows 0 .. 15: q_d = 40 x_(d+1)
    w[(32 + d) * 32 + d] = 1;                // keys of head 0 are rows 32 .. 47: k_d = x_d
  }
  return gpt;
}

std::vector<TokenKind> no_kinds(std::int64_t n) {
  return std::vector<TokenKind>(static_cast<std::size_t>(n), TokenKind::other);
}

std::vector<std::int32_t> ids(const Tensor& tokens) { return tokens.to_vector<std::int32_t>(); }

TEST_CASE("head analysis: a model built by hand has the heads it was built with") {
  const Gpt gpt = previous_token_model();
  const std::vector<std::vector<std::int32_t>> texts = {ids(tokens_for(gpt.config, 1, 16)),
                                                        ids(tokens_for(gpt.config, 1, 16, 2))};
  const std::vector<HeadReport> heads = analyse_heads(gpt, no_kinds(8), texts);
  REQUIRE(heads.size() == 2);
  CHECK(heads[0].scores.offset[1].value() == doctest::Approx(1).epsilon(1e-6));
  CHECK(heads[0].type == "previous character");
  CHECK(heads[0].scores.distance.value() == doctest::Approx(1).epsilon(1e-5));
  CHECK(heads[1].scores.entropy.value() == doctest::Approx(1));
  CHECK(heads[1].scores.sink.lift() == doctest::Approx(0).epsilon(1e-6));
  CHECK(heads[1].type == "broad");
  CHECK(heads[1].scores.distance.value() == doctest::Approx(4));  // mean of i / 2 over i = 1 .. 15
  CHECK(mean_distance(heads, 0) == doctest::Approx(2.5));
}

TEST_CASE("head analysis: a type needs a lift of 0.25; the largest one names it") {
  HeadScores s;
  s.offset.resize(4);
  s.entropy.add(0.5, 1);
  CHECK(head_type(s) == "mixed");
  s.top.add(0.9, 0.1);
  CHECK(head_type(s) == "a few, by content");
  s.entropy.add(1.5, 1);
  CHECK(head_type(s) == "broad");
  s.local.add(0.8, 0.2);
  CHECK(head_type(s) == "the last few characters");
  s.offset[3].add(0.3, 0);
  CHECK(head_type(s) == "3 characters back");
  s.line_end.add(0.5, 0);
  CHECK(head_type(s) == "line ends");
  s.sink.add(0.6, 0);
  CHECK(head_type(s) == "sink on the first character");
}

TEST_CASE("head analysis: where each type begins") {
  const auto type = [](const std::function<void(HeadScores&)>& change) {
    HeadScores s;
    s.offset.resize(4);
    s.entropy.add(0.5, 1);
    change(s);
    return head_type(s);
  };
  CHECK(type([](HeadScores& s) { s.offset[2].add(0.26, 0); }) == "2 characters back");
  CHECK(type([](HeadScores& s) { s.offset[2].add(0.24, 0); }) == "mixed");
  CHECK(type([](HeadScores& s) { s.local.add(0.36, 0); }) == "the last few characters");
  CHECK(type([](HeadScores& s) { s.local.add(0.34, 0); }) == "mixed");
  CHECK(type([](HeadScores& s) { s.entropy.add(1.22, 1); }) == "broad");  // 0.86 on average
  CHECK(type([](HeadScores& s) { s.entropy.add(1.18, 1); }) == "mixed");
  CHECK(type([](HeadScores& s) { s.top.add(0.51, 0); }) == "a few, by content");
  CHECK(type([](HeadScores& s) { s.top.add(0.49, 0); }) == "mixed");
}

TEST_CASE(
    "head analysis: without a head is the model whose head has zeros in c_proj, and the original stays") {
  GptConfig config = tiny_config();
  config.n_embd = 8;
  Gpt gpt = lively_model(config, 4);
  const Tensor tokens = tokens_for(config, 2, 4);
  const std::vector<double> before = gpt.forward(tokens).value().to_vector<double>();
  const std::vector<double> cut = without_head(gpt, 1, 0).forward(tokens).value().to_vector<double>();
  CHECK(gpt.forward(tokens).value().to_vector<double>() == before);
  CHECK(cut != before);
  double* w = gpt.transformer.h[1].attn.c_proj.weight.mutable_value().mutable_data<double>();
  for (int row = 0; row < 8; ++row)
    for (int column = 0; column < 4; ++column) w[row * 8 + column] = 0;
  CHECK(gpt.forward(tokens).value().to_vector<double>() == cut);
  CHECK_THROWS_WITH_AS(without_head(gpt, 2, 0), "[heads] there is no head 2.0 in 2 layers of 2 heads", Error);
}

TEST_CASE("head analysis: the rise in loss is what evaluation says, and sorting puts the largest first") {
  const GptConfig config = tiny_config();
  const Gpt gpt = lively_model(config, 5);
  const std::vector<std::int32_t> text = ids(tokens_for(config, 1, 40));
  const auto loss = [&](const Gpt& model) { return score_text(model, text).loss(); };
  const std::vector<std::vector<std::int32_t>> texts = {{text.begin(), text.begin() + 4}};
  std::vector<HeadReport> heads = analyse_heads(gpt, no_kinds(5), texts);
  CHECK_FALSE(heads[0].measured);
  CHECK(measure_ablation(gpt, heads, loss) == loss(gpt));
  for (const HeadReport& h : heads) {
    CHECK(h.measured);
    CHECK(h.loss_rise == loss(without_head(gpt, h.layer, h.head)) - loss(gpt));
    CHECK(std::abs(h.loss_rise) > 1e-6);
  }
  sort_by_loss_rise(heads);
  for (std::size_t i = 1; i < heads.size(); ++i) CHECK(heads[i - 1].loss_rise >= heads[i].loss_rise);
}

TEST_CASE("head analysis: a head that nothing depends on costs exactly nothing") {
  const Gpt gpt = previous_token_model();  // its c_proj is zero
  const std::vector<std::int32_t> text = ids(tokens_for(gpt.config, 1, 40));
  const std::vector<std::vector<std::int32_t>> texts = {{text.begin(), text.begin() + 16}};
  std::vector<HeadReport> heads = analyse_heads(gpt, no_kinds(8), texts);
  measure_ablation(gpt, heads, [&](const Gpt& model) { return score_text(model, text).loss(); });
  CHECK(heads[0].loss_rise == 0);
}

TEST_CASE("head analysis: kinds of tokens, in English and Chinese") {
  const CharTokenizer t = CharTokenizer::from_text(U"\n a.，。“猫7-");
  const std::vector<TokenKind> kinds = token_kinds(t);
  CHECK(kinds.size() == 10);
  CHECK(token_kinds(CharTokenizer::from_text(U"a\nb", true)).back() == TokenKind::line_end);  // <doc>
  const auto kind = [&](char32_t c) {
    return kinds[static_cast<std::size_t>(t.encode(std::u32string(1, c))[0])];
  };
  CHECK(kind(U'\n') == TokenKind::line_end);
  CHECK(kind(U' ') == TokenKind::blank);
  for (const char32_t c : U".，。“-")
    if (c) CHECK(kind(c) == TokenKind::punctuation);
  for (const char32_t c : U"a猫7")
    if (c) CHECK(kind(c) == TokenKind::other);
  // The first and the last of every stretch of punctuation, and their neighbours.
  const auto kinds_of = [](std::u32string text) {
    std::sort(text.begin(), text.end());  // as the vocabulary is
    return token_kinds(CharTokenizer::from_text(text));
  };
  for (const TokenKind k : kinds_of(U"!/:@[`{~\u2010\u2027\u2030\u205E\u00AB\u00BB\u3001\u3003\u3008\u3011"
                                    U"\uFF01\uFF0F\uFF1A\uFF20"))
    CHECK(k == TokenKind::punctuation);
  for (const TokenKind k : kinds_of(U"09AZaz\u200F\u2028\u205F\u3004\u3007\u3012\uFF00\uFF10\uFF19\uFF21"))
    CHECK(k == TokenKind::other);
}

TEST_CASE("head analysis: texts that do not fit are an error") {
  const Gpt gpt = previous_token_model();
  const std::vector<std::vector<std::int32_t>> one = {{1}}, unknown = {{1, 9}};
  CHECK_THROWS_WITH_AS(analyse_heads(gpt, no_kinds(8), one), "[heads] a text of 1 tokens; needs 2 to 16",
                       Error);
  CHECK_THROWS_WITH_AS(analyse_heads(gpt, no_kinds(8), unknown),
                       "[heads] token 9 is not in the vocabulary of 8", Error);
}

}  // namespace
}  // namespace minigpt::test
