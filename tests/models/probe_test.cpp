#include "models/probe.h"

#include <doctest/doctest.h>

#include <cstring>

#include "autograd/ops/mul.h"
#include "models/attention_weights.h"
#include "tensor/reduce.h"
#include "tests/models/tiny_models.h"

namespace minigpt::test {
namespace {

std::map<std::string, Captured> by_name(const Probe& probe) {
  std::map<std::string, Captured> map;
  for (Captured& c : probe.finish()) map.emplace(c.name, std::move(c));
  return map;
}

double largest(const Tensor& x) { return std::max(max(x).item(), -min(x).item()); }

GptConfig dropping() {
  GptConfig config = tiny_config();
  config.dropout = 0.3;
  return config;
}

TEST_CASE("probe: names are those of the model; a pattern that fits none is refused") {
  const Gpt gpt = lively_model(tiny_config(), 1);
  const std::vector<std::string> names = Probe::names(gpt);
  CHECK(names.front() == "transformer.drop");
  CHECK(names.back() == "lm_head");
  CHECK(std::count(names.begin(), names.end(), "transformer.h.1.attn.weights") == 1);
  CHECK_THROWS_WITH_AS(Probe(gpt, {"*", "transformer.h.2*"}),
                       "[probe] 'transformer.h.2*' fits nothing in this model; names are transformer.drop, "
                       "transformer.h.0.ln_1, ... lm_head",
                       Error);
}

TEST_CASE("probe: an opened block computes what the fused one does, also with dropout") {
  for (const bool training : {false, true}) {
    CAPTURE(training);
    const GptConfig config = dropping();
    const Gpt gpt = lively_model(config, 2);
    const Tensor tokens = tokens_for(config, 2, 4);
    DropoutStream masks = DropoutStream::counter(5);
    masks.begin(3);
    Mode mode;
    mode.training = training;
    mode.dropout = &masks;
    Probe probe(gpt, {"*"});
    gpt.loss(tokens, tokens, probe.watching(mode)).backward();
    const auto all = by_name(probe);
    CHECK(all.size() == Probe::names(gpt).size());
    for (const Block& block : gpt.transformer.h) {
      const std::string path = block.path;
      // The branches were captured in the step, what leads to them beside it.
      const Tensor attn = all.at(path + ".attn").value, mlp = all.at(path + ".mlp").value;
      const Tensor out = all.at(path).value, mid = all.at(path + ".mid").value;
      CHECK(largest(mid + mlp - out) < 1e-12);
      if (!training) CHECK(largest(all.at(path + ".attn.c_proj").value - attn) < 1e-12);
      if (!training) CHECK(largest(all.at(path + ".mlp.c_proj").value - mlp) < 1e-12);
      // The gradients of a sum are equal, and those that came through the fused kernels agree with the recomputed ones.
      CHECK(largest(all.at(path + ".mid").gradient - all.at(path + ".attn").gradient) < 1e-12);
      CHECK(largest(all.at(path).gradient - all.at(path + ".mlp").gradient) < 1e-12);
    }
    const Tensor weights = all.at("transformer.h.1.attn.weights").value;
    CHECK(largest(sum(weights, {-1}) - ones({2, 2, 4}, DType::f64)) < 1e-12);  // before dropout
    const Tensor dropped = all.at("transformer.h.1.attn.dropped_weights").value;
    CHECK((largest(dropped - weights) > 0.1) == training);
  }
}

TEST_CASE("probe: attention weights are those of attention_weights(), and nothing else is kept") {
  const GptConfig config = tiny_config();
  const Gpt gpt = lively_model(config, 3);
  const Tensor tokens = tokens_for(config, 2, 4);
  Probe probe(gpt, {"transformer.h.*.attn.weights"});
  {
    const NoGrad no_grad;
    gpt.forward(tokens, probe.watching({}));
  }
  const std::vector<Captured> all = probe.finish();
  const std::vector<Tensor> expected = attention_weights(gpt, tokens);
  REQUIRE(all.size() == 2);
  for (std::size_t i = 0; i < 2; ++i) {
    CHECK(all[i].name == fmt::format("transformer.h.{}.attn.weights", i));
    CHECK(largest(all[i].value - expected[i]) < 1e-12);
    CHECK_FALSE(all[i].gradient.defined());  // no backward pass was made
  }
}

TEST_CASE("probe: the gradient of an attention weight is what moving it does to the loss") {
  // Through the weights alone: out = weights v, with everything after them. Moved by adding to the scores' softmax directly
  // is not possible in the fused model, so the chain is checked one step earlier: dscores = w (dw - sum(w dw)).
  const GptConfig config = tiny_config();
  const Gpt gpt = lively_model(config, 4);
  const Tensor tokens = tokens_for(config, 2, 4);
  Probe probe(gpt, {"transformer.h.0.attn.*"});
  gpt.loss(tokens, tokens, probe.watching({})).backward();
  const auto all = by_name(probe);
  const Tensor w = all.at("transformer.h.0.attn.weights").value,
               dw = all.at("transformer.h.0.attn.weights").gradient;
  const Tensor expected = w * (dw - sum(w * dw, {-1}, true));
  CHECK(largest(all.at("transformer.h.0.attn.scores").gradient - expected) < 1e-12);
  CHECK(largest(expected) > 1e-4);
}

TEST_CASE("probe: training with probes on gives bit-identical weights and leaves nothing behind") {
  std::vector<std::vector<float>> results;
  for (const bool probing : {false, true}) {
    const GptConfig config = dropping();
    Generator rng(1);
    Gpt gpt(config, rng);
    const std::vector<NamedParameter> parameters = gpt.parameters();
    Adam optimizer(decay_groups(parameters, 1e-2, 0.1), {});
    DropoutStream masks = DropoutStream::counter(7);
    Probe probe(gpt, {"*"});
    for (std::uint64_t step = 0; step < 10; ++step) {
      const Tensor tokens = tokens_for(config, 3, 4, step), targets = tokens_for(config, 3, 4, step + 100);
      masks.begin(step);
      Mode mode;
      mode.training = true;
      mode.dropout = &masks;
      optimizer.zero_grad();
      gpt.loss(tokens, targets, probing ? probe.watching(mode) : mode).backward();
      if (probing) CHECK(probe.finish().size() == Probe::names(gpt).size());
      optimizer.step(1.0);
    }
    results.push_back(weights_of(gpt));
  }
  REQUIRE(results[0].size() == results[1].size());
  CHECK(std::memcmp(results[0].data(), results[1].data(), results[0].size() * sizeof(float)) == 0);
}

TEST_CASE("probe: a further pass begins anew") {
  const Gpt gpt = lively_model(tiny_config(), 1);
  const Tensor tokens = tokens_for(gpt.config, 2, 4);
  Probe probe(gpt, {"*"});
  const Mode mode = probe.watching({});
  gpt.loss(tokens, tokens, mode).backward();
  for (const Captured& c : probe.finish()) CHECK(c.gradient.defined());
  gpt.forward(tokens, mode);
  for (const Captured& c : probe.finish()) CHECK_MESSAGE(!c.gradient.defined(), c.name);
}

TEST_CASE("probe: what is computed beside the step is computed with its precision") {
  Generator rng(1);
  const Gpt gpt(tiny_config(), rng);
  const Tensor tokens = tokens_for(gpt.config, 2, 4);
  const auto query = [&](Precision precision) {
    Probe probe(gpt, {"transformer.h.0.attn.c_attn"});
    {
      const ScopedMatmulPrecision scope(precision);
      gpt.forward(tokens, probe.watching({}));
    }
    return probe.finish()[0].value.to_vector<float>();
  };
  CHECK(query(Precision::full) != query(Precision::bf16));
}

TEST_CASE("probe: masks of PyTorch's stream cannot be drawn again, so values inside of blocks are refused") {
  const Gpt gpt = lively_model(dropping(), 1);
  Generator rng(1);
  DropoutStream masks = DropoutStream::torch(rng);
  Mode mode;
  mode.training = true;
  mode.dropout = &masks;
  CHECK_THROWS_AS(Probe(gpt, {"*"}).watching(mode), Error);
  CHECK_NOTHROW(Probe(gpt, {"transformer.h.?", "*.mlp"}).watching(mode));
}

}  // namespace
}  // namespace minigpt::test
