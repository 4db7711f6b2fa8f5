#include "models/predictions.h"

#include <doctest/doctest.h>

#include <cmath>

#include "models/evaluate.h"
#include "tests/models/tiny_models.h"

namespace minigpt::test {
namespace {

const std::vector<std::int32_t> kText = {0, 3, 1, 4, 2};  // T = 4 inputs, the longest that tiny_config reads

TEST_CASE("predictions: the losses are those of the model, and the likeliest tokens are sorted") {
  const Gpt gpt = lively_model(tiny_config(), 1);
  const Predictions p = predict(gpt, kText, 3);
  REQUIRE(p.loss.size() == 4);
  CHECK(p.mean_loss() == doctest::Approx(score_text(gpt, kText).loss()).epsilon(1e-12));
  for (const std::vector<Candidate>& top : p.top) {
    REQUIRE(top.size() == 3);
    CHECK(top[0].probability >= top[1].probability);
    CHECK(top[1].probability >= top[2].probability);
    CHECK(top[0].probability + top[1].probability + top[2].probability <= 1 + 1e-12);
  }
}

TEST_CASE(
    "predictions: the last layer of the lens is the model itself, and layer 0 sees its own token alone") {
  GptConfig config = tiny_config();
  SUBCASE("learned positions") {}
  SUBCASE("rotary positions") { config.positions = "rotary"; }
  const Gpt gpt = lively_model(config, 2);
  const Predictions p = predict(gpt, kText);
  REQUIRE(p.lens.size() == 3);
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(p.lens[2][i].probability == doctest::Approx(std::exp(-p.loss[i])));
    CHECK(p.lens[2][i].best.token == p.top[i][0].token);
  }
  // Another beginning changes nothing in the embedding of position 2.
  const std::vector<std::int32_t> other = {4, 4, 1, 4, 2};
  CHECK(predict(gpt, other).lens[0][2].probability == p.lens[0][2].probability);
  CHECK(predict(gpt, other).lens[2][2].probability != p.lens[2][2].probability);
}

TEST_CASE("predictions: saliency is the length of the gradient, as a finite difference shows") {
  // Position embeddings are added to the token's: moving row j of wpe moves the embedding of position j alone.
  Gpt gpt = lively_model(tiny_config(), 3);
  const Predictions p = predict(gpt, kText);
  double* wpe = gpt.transformer.wpe.weight.mutable_value().mutable_data<double>();
  for (std::size_t j = 0; j < 4; ++j) {
    double squares = 0;
    for (std::size_t c = 0; c < 4; ++c) {
      constexpr double h = 1e-5;
      double& w = wpe[j * 4 + c];
      const double before = w;
      w = before + h;
      const double up = predict(gpt, kText).mean_loss();
      w = before - h;
      const double down = predict(gpt, kText).mean_loss();
      w = before;
      squares += (up - down) * (up - down) / (4 * h * h);
    }
    CHECK(p.saliency[j] == doctest::Approx(std::sqrt(squares)).epsilon(1e-6));
  }
}

TEST_CASE("predictions: the loss of a token depends on nothing after it") {
  const Gpt gpt = lively_model(tiny_config(), 4);
  const std::vector<double> rows = saliency_by_token(gpt, kText);
  REQUIRE(rows.size() == 16);
  for (std::size_t i = 0; i < 4; ++i)
    for (std::size_t j = 0; j < 4; ++j) CHECK((rows[i * 4 + j] > 0) == (j <= i));
  // One text alone: its only loss is the mean loss.
  const std::vector<std::int32_t> pair = {0, 3};
  CHECK(saliency_by_token(gpt, pair)[0] == doctest::Approx(predict(gpt, pair).saliency[0]));
}

TEST_CASE("predictions: of equally likely tokens the lower id comes first") {
  Gpt gpt = lively_model(tiny_config(), 1);
  init::zeros_(gpt.lm_head.weight);
  const Predictions p = predict(gpt, kText, 3);
  for (const std::vector<Candidate>& top : p.top)
    for (std::int32_t id = 0; id < 3; ++id) CHECK(top[static_cast<std::size_t>(id)].token == id);
}

TEST_CASE("predictions: the operations that saliency takes, four per weight, token and pass") {
  Gpt gpt = lively_model(tiny_config(), 1);
  CHECK(saliency_flops(gpt, 3) == 4.0 * static_cast<double>(parameter_count(gpt.parameters())) * 9);
}

TEST_CASE("predictions: a text that does not fit is refused") {
  const Gpt gpt = lively_model(tiny_config(), 1);
  const std::vector<std::int32_t> six(6, 0), one(1, 0);
  CHECK_THROWS_WITH_AS(predict(gpt, six), "[predict] 6 tokens; needs 2 to 5", Error);
  CHECK_THROWS_WITH_AS(predict(gpt, one), "[predict] 1 tokens; needs 2 to 5", Error);
}

}  // namespace
}  // namespace minigpt::test
