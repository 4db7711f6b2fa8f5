// The whole GPT against nanoGPT under PyTorch: logits, loss, every gradient, activations inside, and three AdamW steps.

#include <doctest/doctest.h>

#include <set>

#include "tests/models/reference_gpt.h"

namespace minigpt::reference {
namespace {

TEST_CASE("reference GPT: the parameters have nanoGPT's names, shapes and order, and its two groups") {
  for (const std::string& name : sets()) {
    const Set set(name);
    Gpt gpt = set.model(DType::f32);
    const std::vector<NamedParameter> parameters = gpt.parameters();
    const json& expected = set.file.at("parameters");
    REQUIRE(parameters.size() == expected.size());
    std::set<std::string> decayed;
    const std::vector<ParameterGroup> groups = decay_groups(parameters, 1e-3, 0.1);
    for (const NamedParameter& p : groups.at(0).parameters) decayed.insert(p.name);
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      CHECK(parameters[i].name == expected[i].at("name").get<std::string>());
      const auto shape = expected[i].at("shape").get<std::vector<std::int64_t>>();
      CHECK(parameters[i].variable.shape() == Shape(shape.begin(), shape.end()));
      CHECK(decayed.contains(parameters[i].name) == expected[i].at("decay").get<bool>());
    }
  }
}

TEST_CASE("reference GPT: logits, loss and every gradient") {
  for_each_set([](const Set& set, DType dtype) {
    Gpt gpt = set.model(dtype);
    const Tensor tokens = set.batch("idx", 0), targets = set.batch("targets", 0);
    compare("logits", gpt.forward(tokens).value(), tensor(set.file.at("logits")), Kind::result);
    const Variable loss = gpt.loss(tokens, targets);
    compare("loss", loss.item(), set.file.at("loss"), dtype);
    loss.backward();
    const TensorMap expected = by_name(set.tensors("grads"));
    const std::vector<NamedParameter> parameters = gpt.parameters();
    CHECK(parameters.size() == expected.size());
    for (const NamedParameter& p : parameters)
      compare("gradient of " + p.name, p.variable.grad().value(), expected.at(p.name), Kind::gradient);
  });
}

TEST_CASE("reference GPT: activations, seen by an observer under the modules' paths") {
  for_each_set([](const Set& set, DType dtype) {
    const Gpt gpt = set.model(dtype);
    TensorMap seen;
    const std::function<void(const char*, const Variable&)> look = [&](const char* path,
                                                                       const Variable& out) {
      CHECK_MESSAGE(seen.emplace(path, out.value()).second, path << " was handed out twice");
    };
    Mode mode;
    mode.observe = &look;
    const Variable logits = gpt.forward(set.batch("idx", 0), mode);
    const TensorMap expected = by_name(set.tensors("activations"));
    for (const auto& [name, value] : expected) {
      const std::string path = "transformer." + (name == "embed" ? "drop" : name);
      REQUIRE_MESSAGE(seen.contains(path), "no output of " << path);
      compare(name, seen.at(path), value, Kind::result);
    }
    // Besides them there are only the logits; nothing is handed out that nobody can place.
    CHECK(seen.size() == expected.size() + 1);
    CHECK(seen.contains("lm_head"));
  });
}

TEST_CASE("reference GPT: half a context, as a forward pass and through the key/value cache") {
  for_each_set([](const Set& set, DType dtype) {
    const Gpt gpt = set.model(dtype);
    const Tensor half = slice(set.batch("idx", 0), 1, 0, set.config.block_size / 2).contiguous();
    const Tensor expected = tensor(set.file.at("logits_half"));  // (B, 1, V)
    const Tensor logits = gpt.forward(half).value();
    compare("logits", slice(logits, 1, half.dim(1) - 1, half.dim(1)), expected, Kind::result);
    KvCache cache = gpt.make_cache(half.dim(0));
    compare("cached logits", gpt.next_logits(half, cache), select(expected, 1, 0), Kind::result);
  });
}

// Parameters after steps in float32: within 1e-5, but for the key third of c_attn.bias. Adding the same vector to all
// keys shifts all scores of a row alike, so the gradient of that third is zero; what arrives is rounding noise, and Adam
// divides noise by its own size. It may have moved by as much as a step, in any direction.
void compare_steps_f32(const std::string& name, const Tensor& actual, const Tensor& expected) {
  const std::vector<double> a = actual.to(DType::f64).to_vector<double>(), b = expected.to_vector<double>();
  REQUIRE(a.size() == b.size());
  const bool has_keys = name.ends_with("c_attn.bias");
  for (std::size_t i = 0; i < a.size(); ++i) {
    const bool key = has_keys && i >= a.size() / 3 && i < 2 * a.size() / 3;
    INFO(name << ", element " << i << ": " << a[i] << ", expected " << b[i]);
    REQUIRE(std::abs(a[i] - b[i]) <= (key ? 1e-3 : 1e-5));
  }
}

TEST_CASE("reference GPT: three steps of AdamW with clipping") {
  for_each_set([](const Set& set, DType dtype) {
    Gpt gpt = set.model(dtype);
    const std::vector<NamedParameter> parameters = gpt.parameters();
    const json& hyper = set.file.at("optimizer");
    AdamOptions options;
    options.beta1 = hyper.at("betas").at(0);
    options.beta2 = hyper.at("betas").at(1);
    options.eps = hyper.at("eps");
    Adam optimizer(decay_groups(parameters, hyper.at("lr"), hyper.at("weight_decay")), options);
    const json& steps = hyper.at("steps");
    REQUIRE(static_cast<std::int64_t>(steps.size()) == set.batches);
    for (std::int64_t i = 0; i < set.batches; ++i) {
      INFO("step " << i);
      optimizer.zero_grad();
      const Variable loss = gpt.loss(set.batch("idx", i), set.batch("targets", i));
      loss.backward();
      const double norm = grad_norm(parameters);
      const json& expected = steps.at(static_cast<std::size_t>(i));
      compare("loss", loss.item(), expected.at("loss"), dtype);
      compare("gradient norm", norm, expected.at("grad_norm"), dtype);
      optimizer.step(clip_factor(norm, hyper.at("grad_clip")));
      if (i != 0 && i != 2) continue;
      const TensorMap after = by_name(set.tensors(i == 0 ? "step1" : "step3"));
      for (const NamedParameter& p : parameters) {
        if (dtype == DType::f32)
          compare_steps_f32(p.name, p.variable.value(), after.at(p.name));
        else
          compare(p.name, p.variable.value(), after.at(p.name), Kind::result);
      }
    }
    compare("loss at the end", gpt.loss(set.batch("idx", 0), set.batch("targets", 0)).item(),
            hyper.at("loss_batch0_after"), dtype);
  });
}

// Hugging Face's GPT-2 stores the four matrices of a block as (in, out), has no "transformer." in front, and keeps the
// causal mask as a buffer.
std::vector<NamedTensor> from_hugging_face(const std::vector<NamedTensor>& tensors) {
  std::vector<NamedTensor> own;
  for (const NamedTensor& t : tensors) {
    if (t.name.ends_with(".attn.bias")) continue;
    const bool matrix = t.name.ends_with("c_attn.weight") || t.name.ends_with("c_proj.weight") ||
                        t.name.ends_with("c_fc.weight");
    own.push_back({"transformer." + t.name, matrix ? transpose(t.tensor) : t.tensor});
  }
  return own;
}

TEST_CASE("reference GPT: a file in Hugging Face's layout holds the same model") {
  int checked = 0;
  for (const std::string& name : sets()) {
    const Set set(name);
    if (!set.file.at("files").contains("hf")) continue;
    Generator rng(2);
    Gpt gpt(set.config, rng);
    load_parameters(gpt.parameters(), from_hugging_face(set.tensors("hf")), "hf");
    const TensorMap expected = by_name(set.tensors("weights"));
    for (const NamedParameter& p : gpt.parameters())
      CHECK_MESSAGE(p.variable.value().to_vector<float>() == expected.at(p.name).to_vector<float>(), p.name);
    compare("logits", gpt.forward(set.batch("idx", 0)).value(), tensor(set.file.at("logits")), Kind::result);
    // Unchanged, the file is refused: nothing of it is taken by mistake.
    CHECK_THROWS_WITH_AS(load_parameters(gpt.parameters(), set.tensors("hf"), "hf"),
                         doctest::Contains("missing: transformer.wte.weight"), Error);
    ++checked;
  }
  MESSAGE("files in Hugging Face's layout: " << checked);
}

}  // namespace
}  // namespace minigpt::reference
