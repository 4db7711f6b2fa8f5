#include "models/head_scores.h"

#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <string_view>

#include "tensor/error.h"

namespace minigpt::test {
namespace {

// The scores of a head whose row i has weight w(i, j) on j, on a text whose tokens are its characters.
HeadScores scores_of(std::string_view text, const std::function<double(std::size_t, std::size_t)>& w) {
  HeadScores scores;
  scores.offset.resize(9);
  std::vector<double> weights;
  std::vector<std::int32_t> tokens;
  std::vector<TokenKind> kinds;
  for (std::size_t i = 0; i < text.size(); ++i) {
    for (std::size_t j = 0; j < text.size(); ++j) weights.push_back(j <= i ? w(i, j) : 0);
    tokens.push_back(text[i]);
    kinds.push_back(text[i] == '\n'  ? TokenKind::line_end
                    : text[i] == ' ' ? TokenKind::blank
                    : text[i] == '.' ? TokenKind::punctuation
                                     : TokenKind::other);
  }
  scores.add(weights, tokens, kinds);
  return scores;
}

constexpr std::string_view kText = "abcabc. abc\nabcabcabcabcabcabcabcabcabcabc";  // 42 tokens

TEST_CASE("head scores: a uniform head has entropy 1, and lift 0 everywhere") {
  const HeadScores s =
      scores_of(kText, [](std::size_t i, std::size_t) { return 1.0 / static_cast<double>(i + 1); });
  CHECK(s.entropy.value() == doctest::Approx(1));
  CHECK(s.distance.value() == doctest::Approx(s.distance.uniform()));
  CHECK(s.distance.value() == doctest::Approx(41 * 42 / 2.0 / 2 / 41));  // mean of i / 2 over i = 1 .. 41
  for (const Score& score : {s.sink, s.top, s.local, s.duplicate, s.induction, s.line_end, s.punctuation,
                             s.blank, s.offset[1], s.offset[8]}) {
    CHECK(score.rows > 0);
    CHECK(score.lift() == doctest::Approx(0));
    CHECK(score.value() > 0);
  }
}

TEST_CASE("head scores: a head on the token k back has all its weight at offset k") {
  for (const std::size_t k : {1, 2, 5}) {
    CAPTURE(k);
    const HeadScores s =
        scores_of(kText, [k](std::size_t i, std::size_t j) { return j == (i >= k ? i - k : 0); });
    CHECK(s.offset[k].value() == 1);
    CHECK(s.offset[k].lift() == 1);
    CHECK(s.offset[k].rows == 42 - static_cast<std::int64_t>(k));  // rows before k have no such token
    CHECK(s.offset[0].lift() < 0.1);
    CHECK(s.entropy.value() == 0);
    CHECK(s.local.value() == 1);
    CHECK(s.top.value() == 1);
  }
}

TEST_CASE(
    "head scores: offset 0 is the token itself, where the first one, which has no choice, does not count") {
  const HeadScores s = scores_of(kText, [](std::size_t i, std::size_t j) { return i == j; });
  CHECK(s.offset[0].value() == 1);
  CHECK(s.offset[0].rows == 41);
  CHECK(s.distance.value() == 0);
}

TEST_CASE("head scores: a sink counts where the first token is far") {
  const HeadScores s = scores_of(kText, [](std::size_t, std::size_t j) { return j == 0; });
  CHECK(s.sink.value() == 1);
  CHECK(s.sink.rows == 42 - kFarFrom);
  CHECK(s.local.value() == 0);
  CHECK(s.local.rows == 42 - (4 * kNear - 1));
  CHECK(s.local.lift() < 0);  // it avoids what is near
}

TEST_CASE(
    "head scores: an induction head looks at what followed the same token, a duplicate head at that token") {
  // The last earlier place of the same token; before there is one, itself.
  const auto earlier = [](std::size_t i) {
    const auto at = i == 0 ? kText.npos : kText.rfind(kText[i], i - 1);
    return at == kText.npos ? i : at;
  };
  const HeadScores same = scores_of(kText, [&](std::size_t i, std::size_t j) { return j == earlier(i); });
  CHECK(same.duplicate.value() == 1);
  CHECK(same.induction.value() == 0);
  CHECK(same.duplicate.rows == 42 - 6);  // a b c . blank and the line break occur for the first time
  const HeadScores next = scores_of(
      kText, [&](std::size_t i, std::size_t j) { return j == (earlier(i) == i ? i : earlier(i) + 1); });
  CHECK(next.induction.value() == 1);
  CHECK(next.duplicate.value() == 0);
  CHECK(next.induction.rows == 42 - 6);
}

TEST_CASE("head scores: line ends, punctuation and blanks count once there is one to look at") {
  const HeadScores s = scores_of(kText, [](std::size_t i, std::size_t j) {
    return i <= 6             ? i == j
           : j == 6           ? 0.5
           : j == 7           ? (i > 7 ? 0.25 : 0.5)
           : j == 11          ? 0.25
           : i < 11 && j == i ? 0.25
                              : 0;
  });
  CHECK(s.punctuation.value() == doctest::Approx(0.5));
  CHECK(s.punctuation.rows == 42 - 7);
  CHECK(s.blank.value() == doctest::Approx(0.25));
  CHECK(s.blank.rows == 42 - 8);
  CHECK(s.line_end.value() == doctest::Approx(0.25));
  CHECK(s.line_end.rows == 42 - 12);
}

TEST_CASE("head scores: the heaviest k columns, wherever they are") {
  const HeadScores s = scores_of(kText, [](std::size_t i, std::size_t j) {
    if (i < 15) return i == j ? 1.0 : 0.0;
    return j < 10 ? (j % 2 == 0 ? 0.15 : 0.05) : 0.0;  // five of 0.15, five of 0.05
  });
  CHECK(s.top.value() == doctest::Approx(0.6));
  CHECK(s.top.rows == 42 - 15);  // from row 15 on, uniform attention would give 4 columns a quarter or less
}

TEST_CASE("head scores: a text too short for a pattern leaves its score without rows") {
  const HeadScores s = scores_of("ab", [](std::size_t i, std::size_t j) { return i == j; });
  CHECK(s.sink.rows == 0);
  CHECK(std::isnan(s.sink.value()));
  CHECK(s.sink.lift() == 0);
  CHECK(s.duplicate.rows == 0);
  CHECK(s.offset[0].rows == 1);
}

TEST_CASE("head scores: sizes that do not fit are an error") {
  HeadScores scores;
  const std::vector<double> weights(4);
  const std::vector<std::int32_t> tokens(3);
  const std::vector<TokenKind> kinds(3);
  CHECK_THROWS_WITH_AS(scores.add(weights, tokens, kinds), "[head_scores] 4 weights and 3 kinds for 3 tokens",
                       Error);
}

}  // namespace
}  // namespace minigpt::test
