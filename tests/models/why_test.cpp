// Faults planted in a small GPT, and the reasons that must be found.
#include "models/why.h"

#include <doctest/doctest.h>

#include <limits>

#include "tests/models/tiny_models.h"

namespace minigpt {
namespace {

using test::tiny_config;
using test::tokens_for;

struct Fixture {
  GptConfig config = tiny_config();
  CharTokenizer tokenizer = CharTokenizer::from_text(U"abcde", false);
  Tensor inputs = Tensor::from<std::int32_t>({0, 1, 2, 3, 1, 1, 0, 2}, {2, 4});
  Tensor targets = Tensor::from<std::int32_t>({1, 2, 3, 1, 1, 0, 2, 0}, {2, 4});

  // Weights of an ordinary size.
  Gpt model() const {
    Generator rng(1);
    Gpt gpt(config, rng);
    for (NamedParameter& p : gpt.parameters()) init::uniform_(p.variable, -0.5, 0.5, rng);
    return gpt;
  }
  WhyAnswer ask(Gpt& gpt, const char* tensor, std::optional<Dims> index = {}) const {
    WhyRequest request;
    request.tensor = tensor;
    request.index = index;
    request.inputs = inputs;
    request.targets = targets;
    return why(gpt, tokenizer, request);
  }
};

std::string cause(const WhyAnswer& a) {
  const GradientExplanation& e = a.explanation;
  return e.causes.empty() ? std::string("none") : e.causes[0].id + " at " + e.causes[0].where;
}

TEST_CASE("V-06: why: nothing is wrong with an ordinary model, and it is left as it was") {
  const Fixture f;
  Gpt gpt = f.model();
  const std::vector<float> before = test::weights_of(gpt);
  for (const NamedParameter& p : gpt.parameters()) {
    const WhyAnswer a = f.ask(gpt, p.name.c_str());
    CHECK_MESSAGE(a.explanation.state == GradientState::ordinary, p.name);
    CHECK_FALSE(p.variable.has_grad());
  }
  CHECK(test::weights_of(gpt) == before);
}

TEST_CASE("why: a character that the batch does not have") {
  Fixture f;
  f.config.tie_weights = false;  // tied, the read-out gives every character a gradient
  Gpt gpt = f.model();
  const WhyAnswer a = f.ask(gpt, "transformer.wte.weight", Dims{4, 0});
  CHECK(cause(a) == "row_not_in_batch at transformer.wte embedding");
  CHECK(a.explanation.causes[0].text.find("character") != std::string::npos);
  CHECK(a.explanation.causes[0].text.find("e") != std::string::npos);
}

TEST_CASE("why: projections that begin at zero, a dead layer, a layer switched off behind it") {
  Fixture f;
  f.config.activation = "relu";
  Gpt gpt = f.model();
  init::zeros_(gpt.transformer.h[0].mlp.c_proj.weight);
  WhyAnswer a = f.ask(gpt, "transformer.h.0.mlp.c_fc.weight");
  CHECK(a.explanation.state == GradientState::zero);
  CHECK(cause(a) == "zero_weight at transformer.h.0.mlp linear");
  CHECK(a.explanation.causes[0].text.find("transformer.h.0.mlp.c_proj.weight") != std::string::npos);

  Gpt dead = f.model();
  Tensor& bias = dead.transformer.h[1].mlp.c_fc.bias.mutable_value();
  for (std::int64_t i = 0; i < bias.numel(); ++i) bias.mutable_data<float>()[i] = -100;
  a = f.ask(dead, "transformer.h.1.mlp.c_fc.weight", Dims{3, 2});
  CHECK(cause(a) == "relu_inactive at transformer.h.1.mlp relu");
}

TEST_CASE("why: not a number, at the weight that holds it") {
  const Fixture f;
  Gpt gpt = f.model();
  gpt.transformer.h[1].attn.c_proj.weight.mutable_value().mutable_data<float>()[5] =
      std::numeric_limits<float>::quiet_NaN();
  const WhyAnswer a = f.ask(gpt, "transformer.wpe.weight");
  CHECK(a.explanation.state == GradientState::not_finite);
  CHECK(a.explanation.causes[0].where.starts_with("transformer.h.1.attn"));
  CHECK(a.explanation.causes[0].text.find("transformer.h.1.attn.c_proj.weight") != std::string::npos);
}

TEST_CASE("why: scores far too large saturate the softmax") {
  const Fixture f;
  Gpt gpt = f.model();
  Tensor& w = gpt.transformer.h[0].attn.c_attn.weight.mutable_value();
  for (std::int64_t i = 0; i < 2 * w.numel() / 3; ++i)
    w.mutable_data<float>()[i] *= 3000;  // queries and keys
  const WhyAnswer a = f.ask(gpt, "transformer.h.0.attn.c_attn.weight", Dims{0, 0});
  CHECK(a.explanation.state != GradientState::missing);
  bool found = false;
  for (const GradientCause& c : a.explanation.causes)
    found = found || (c.id == "softmax_saturated" && c.where == "transformer.h.0.attn softmax");
  CHECK(found);
}

TEST_CASE("why: a gradient that float32 cannot hold is there in float64") {
  const Fixture f;
  Gpt gpt = f.model();
  for (Linear* layer : {&gpt.transformer.h[0].mlp.c_proj, &gpt.transformer.h[0].mlp.c_fc})
    for (std::int64_t i = 0; i < layer->weight.numel(); ++i)
      layer->weight.mutable_value().mutable_data<float>()[i] *= 1e-25F;
  const WhyAnswer a = f.ask(gpt, "transformer.h.0.ln_2.weight");
  // What comes through the branch is far below the smallest float; nothing else uses the gain.
  CHECK(a.explanation.state == GradientState::zero);
  CHECK(cause(a).starts_with("underflow"));
  for (const NamedParameter& p : gpt.parameters()) CHECK(p.variable.dtype() == DType::f32);  // as it was
}

TEST_CASE("why: a limit of the gradient norm is told, with what is left of the gradient") {
  const Fixture f;
  Gpt gpt = f.model();
  WhyRequest request;
  request.tensor = "lm_head.weight";
  request.inputs = f.inputs;
  request.targets = f.targets;
  const WhyAnswer free = why(gpt, f.tokenizer, request);
  CHECK(free.clip == 1);
  request.grad_clip = free.grad_norm / 4;
  const WhyAnswer limited = why(gpt, f.tokenizer, request);
  CHECK(limited.clip == doctest::Approx(0.25).epsilon(1e-4));
  REQUIRE(limited.explanation.causes.size() == free.explanation.causes.size() + 1);
  CHECK(limited.explanation.causes.back().id == "clipped");
}

TEST_CASE("why: dropout is that of the seed, and none without one") {
  Fixture f;
  f.config.dropout = 0.5;
  Gpt gpt = f.model();
  const auto loss = [&](std::optional<std::uint64_t> seed) {
    WhyRequest request;
    request.tensor = "transformer.wte.weight";
    request.inputs = f.inputs;
    request.targets = f.targets;
    request.dropout_seed = seed;
    return why(gpt, f.tokenizer, request).loss;
  };
  CHECK(loss({}) == gpt.loss(f.inputs, f.targets).item());
  CHECK(loss(1) == loss(1));
  CHECK(loss(1) != loss(2));
  CHECK(loss(0) != loss({}));
}

TEST_CASE("why: a name that does not exist is answered with the nearest") {
  const Fixture f;
  Gpt gpt = f.model();
  CHECK_THROWS_WITH_AS(f.ask(gpt, "transformer.h.0.mlp.c_fc.wieght"),
                       "the model has no parameter 'transformer.h.0.mlp.c_fc.wieght'; did you mean "
                       "transformer.h.0.mlp.c_fc.weight?",
                       Error);
}

}  // namespace
}  // namespace minigpt
