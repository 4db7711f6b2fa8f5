// nanoGPT's own run under PyTorch, from the seed alone: initial weights, batches, losses.
//
// Training needs the text: MINIGPT_DATA names a folder with tinyshakespeare.txt. MINIGPT_LONG_TESTS goes all the way.

#include <doctest/doctest.h>

#include <cmath>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>

#include "models/text_file.h"
#include "models/trainer.h"
#include "nn/tensor_file.h"
#include "tensor/reduce.h"
#include "tests/nn/temporary_folder.h"
#include "tests/reference_files.h"

namespace minigpt::reference {
namespace {

using nlohmann::json;

// The recipe of trace.json is the preset that claims to be it.
TrainConfig recipe(const json& trace) {
  TrainConfig config = preset("nanogpt-cpu");
  const json& c = trace.at("config");
  CHECK(config.model.block_size == c.at("block_size").get<int>());
  CHECK(config.model.n_layer == c.at("n_layer").get<int>());
  CHECK(config.model.n_head == c.at("n_head").get<int>());
  CHECK(config.model.n_embd == c.at("n_embd").get<int>());
  CHECK(config.model.bias == c.at("bias").get<bool>());
  CHECK(config.batch_size == c.at("batch_size").get<int>());
  CHECK(config.lr_decay_steps == c.at("lr_decay_iters").get<int>());
  CHECK(config.eval_batches == c.at("eval_iters").get<int>());
  CHECK(config.eval_every == c.at("eval_interval").get<int>());
  CHECK(config.beta2 == c.at("beta2").get<double>());
  config.seed = trace.at("seed");
  config.model.vocab_size = c.at("meta_vocab_size");
  return config;
}

std::vector<double> numbers(const Tensor& x) { return x.to(DType::f64).contiguous().to_vector<double>(); }

TEST_CASE("reference trace: the seed gives PyTorch's initial weights") {
  const json trace = load("trace.json");
  const TrainConfig config = recipe(trace);
  Generator rng(static_cast<std::uint64_t>(config.seed));
  Gpt gpt(config.model, rng);
  const std::vector<NamedParameter> parameters = gpt.parameters();
  REQUIRE(parameters.size() == trace.at("init").size());
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const json& expected = trace["init"][i];
    INFO(parameters[i].name);
    CHECK(parameters[i].name == expected.at("name").get<std::string>());
    const Tensor x = parameters[i].variable.value().to(DType::f64);
    CHECK(std::abs(mean(x).item() - expected.at("mean").get<double>()) <= 1e-7);
    CHECK(std::abs(std::sqrt(var(x, {}, 0).item()) - expected.at("std").get<double>()) <= 1e-7);
    const std::vector<double> values = numbers(x);
    const json &first = expected.at("first"), &last = expected.at("last");
    for (std::size_t j = 0; j < first.size(); ++j)
      CHECK(std::abs(values[j] - first[j].get<double>()) <= 1e-7);
    for (std::size_t j = 0; j < last.size(); ++j)
      CHECK(std::abs(values[values.size() - last.size() + j] - last[j].get<double>()) <= 1e-7);
  }
  const std::filesystem::path whole = folder() / "trace.init.safetensors";
  if (!std::filesystem::exists(whole)) {
    MESSAGE("compared by mean, spread and first and last values; " << whole.string() << " is not there");
    return;
  }
  std::map<std::string, Tensor> stored;
  for (const NamedTensor& t : load_tensors(whole)) stored.emplace(t.name, t.tensor);
  CHECK(stored.size() == parameters.size());
  for (const NamedParameter& p : parameters) {
    const std::vector<double> a = numbers(p.variable.value()), b = numbers(stored.at(p.name));
    REQUIRE(a.size() == b.size());
    double worst = 0;
    for (std::size_t i = 0; i < a.size(); ++i) worst = std::max(worst, std::abs(a[i] - b[i]));
    CHECK_MESSAGE(worst <= 1e-7, p.name << " differs by " << worst);
  }
}

TEST_CASE("reference trace: small draws, each from a fresh seed") {
  const json trace = load("trace.json");
  const json& rng = trace.at("rng");
  const std::uint64_t seed = trace.at("seed");
  const auto check_draw = [&](const char* name, auto zero, const auto& draw) {
    const std::vector<double> expected = rng.at(name).get<std::vector<double>>();
    std::vector<decltype(zero)> values(expected.size());
    Generator generator(seed);
    draw(generator, values);
    for (std::size_t i = 0; i < expected.size(); ++i)
      CHECK_MESSAGE(std::abs(static_cast<double>(values[i]) - expected[i]) <= 1e-6, name << " " << i);
  };
  const auto uniform = [](Generator& g, auto& x) { g.uniform(x); };
  const auto normal = [](Generator& g, auto& x) { g.normal(x); };
  check_draw("rand_float32_8", 0.0f, uniform);
  check_draw("rand_float64_8", 0.0, uniform);
  check_draw("randint_1000_8", std::int64_t{0}, [](Generator& g, auto& x) { g.randint(x, 0, 1000); });
  check_draw("randn_float32_8", 0.0f, normal);
  check_draw("randn_float32_16", 0.0f, normal);
  check_draw("randn_float32_37", 0.0f, normal);
  check_draw("randn_float64_8", 0.0, normal);
  check_draw("normal_0_0.02_float32_16", 0.0f, [](Generator& g, auto& x) { g.normal(x, 0, 0.02); });
  check_draw("randperm_10", std::int64_t{0}, [](Generator& g, auto& x) { x = g.randperm(10); });
}

// The text of the run, if the environment says where it is.
std::optional<std::u32string> shakespeare() {
  const char* given = std::getenv("MINIGPT_DATA");
  const std::filesystem::path path = std::filesystem::path(given ? given : "") / "tinyshakespeare.txt";
  if (given && std::filesystem::exists(path)) return load_text(path).text;
  MESSAGE("skipped: MINIGPT_DATA names no folder with tinyshakespeare.txt in it");
  return std::nullopt;
}

bool long_tests() { return std::getenv("MINIGPT_LONG_TESTS") != nullptr; }

struct Recorder : TrainListener {
  std::vector<StepReport> steps;
  std::vector<EvalReport> evaluations;
  void on_step(const StepReport& report) override { steps.push_back(report); }
  void on_evaluation(const EvalReport& report) override { evaluations.push_back(report); }
};

TEST_CASE("reference trace: the seed gives nanoGPT's batches") {
  const std::optional<std::u32string> text = shakespeare();
  if (!text) return;
  const json trace = load("trace.json");
  const TrainConfig config = recipe(trace);
  const CharTokenizer tokenizer = CharTokenizer::from_text(*text);
  CHECK(tokenizer.vocab_size() == config.model.vocab_size);
  const TrainData data(config, tokenizer, *text, "tinyshakespeare.txt");
  CHECK(data.tokens(Split::kTrain).size() == trace.at("data").at("train_tokens").get<std::size_t>());
  CHECK(data.tokens(Split::kValidation).size() == trace["data"].at("val_tokens").get<std::size_t>());

  Generator rng(static_cast<std::uint64_t>(config.seed));
  const Gpt constructed(config.model, rng);
  const json& offsets = trace.at("train_offsets");
  const auto same = [](const TokenBatch& batch, const json& expected) {
    return batch.offsets == expected.get<std::vector<std::int64_t>>();
  };
  CHECK(same(data.train_batch(0, rng), offsets.at(0)));
  for (std::size_t it = 0; it + 1 < offsets.size(); ++it) {
    if (it % static_cast<std::size_t>(config.eval_every) == 0)
      for (const auto& [split, key] :
           {std::pair{Split::kTrain, "train"}, std::pair{Split::kValidation, "val"}})
        for (std::int64_t i = 0; i < config.eval_batches; ++i)
          CHECK(
              same(data.eval_batch(split, i, config.eval_batches, &rng),
                   trace.at("eval_offsets").at(std::to_string(it)).at(key).at(static_cast<std::size_t>(i))));
    REQUIRE(same(data.train_batch(static_cast<std::int64_t>(it) + 1, rng), offsets.at(it + 1)));
  }
}

// Means and norms of the parameters after `steps` updates.
void check_parameters(Gpt& gpt, const json& trace, int steps) {
  json expected;
  for (const json& entry : trace.at("after"))
    if (entry.at("steps") == steps) expected = entry.at("parameters");
  const std::vector<NamedParameter> parameters = gpt.parameters();
  REQUIRE(parameters.size() == expected.size());
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    INFO(parameters[i].name);
    const Tensor x = parameters[i].variable.value().to(DType::f64);
    CHECK(std::abs(mean(x).item() - expected[i].at("mean").get<double>()) <= 1e-6);
    const double norm = expected[i].at("norm").get<double>();
    CHECK(std::abs(std::sqrt(sum_of_squares(x)) - norm) <= 1e-5 * norm);
  }
}

TEST_CASE("reference trace: training follows nanoGPT's losses, rates and gradient norms") {
  const std::optional<std::u32string> text = shakespeare();
  if (!text) return;
  const json trace = load("trace.json");
  TrainConfig config = recipe(trace);
  config.steps = long_tests() ? 301 : 20;
  const CharTokenizer tokenizer = CharTokenizer::from_text(*text);
  const TrainData data(config, tokenizer, *text, "tinyshakespeare.txt");
  const test::TemporaryFolder folder;
  const ModelFolder model(folder.path());

  // 10 steps, then the rest in a second run that starts from the saved state.
  Recorder seen;
  TrainConfig first = config;
  first.steps = 10;
  Trainer start(first, tokenizer, data);
  start.run(&model, seen);
  check_parameters(start.model(), trace, 10);
  seen.evaluations.resize(1);  // the one at the end of a run is not nanoGPT's
  Trainer rest(config, tokenizer, data);
  rest.resume(model);
  rest.run(&model, seen);

  const auto close = [](double a, const json& b) { return std::abs(a - b.get<double>()) <= 1e-4; };
  REQUIRE(static_cast<std::int64_t>(seen.steps.size()) == config.steps);
  const json& expected = trace.at("iterations");
  for (std::size_t i = 0; i < seen.steps.size(); ++i) {
    INFO("iteration " << i);
    CHECK(close(seen.steps[i].loss, expected.at("loss").at(i)));
    CHECK(seen.steps[i].learning_rate ==
          doctest::Approx(expected.at("lr").at(i).get<double>()).epsilon(1e-12));
    CHECK(std::abs(seen.steps[i].grad_norm - expected.at("grad_norm").at(i).get<double>()) <= 1e-3);
  }
  for (std::size_t i = 0; i + 1 < seen.evaluations.size(); ++i) {  // the last one again is that of the end
    CHECK(seen.evaluations[i].step == trace.at("eval").at(i).at("iter").get<std::int64_t>());
    CHECK(close(seen.evaluations[i].train_loss, trace["eval"][i].at("train")));
    CHECK(close(seen.evaluations[i].val_loss.value(), trace["eval"][i].at("val")));
  }
  CHECK(seen.evaluations.size() == (long_tests() ? 3u : 2u));
  CHECK(
      rest.state().batch_offsets ==
      trace.at("train_offsets").at(static_cast<std::size_t>(config.steps)).get<std::vector<std::int64_t>>());
}

// Runs of other shapes: with dropout drawn as PyTorch draws it, with two micro-batches a step, and the full length.
TEST_CASE("reference trace: recorded runs of nanoGPT") {
  const std::optional<std::u32string> text = shakespeare();
  if (!text) return;
  const CharTokenizer tokenizer = CharTokenizer::from_text(*text);
  const json file = load("torch_rng.json");
  int checked = 0;
  for (const json& entry : file) {
    if (entry.at("rule") != "nanogpt_log") continue;
    const json& a = entry.at("args");
    const auto iterations = a.at("iters").get<std::vector<std::size_t>>();
    const auto evaluated = a.at("eval_steps").get<std::vector<std::int64_t>>();
    if (iterations.back() > 100 && !long_tests()) continue;
    TrainConfig config = preset("nanogpt-cpu");
    config.seed = entry.at("seed");
    config.model.block_size = a.at("block_size");
    config.model.n_layer = a.at("n_layer");
    config.model.n_head = a.at("n_head");
    config.model.n_embd = a.at("n_embd");
    config.model.dropout = a.at("dropout");
    config.torch_dropout = true;
    config.batch_size = a.at("batch_size");
    config.micro_batches = a.at("gradient_accumulation_steps");
    config.eval_batches = a.at("eval_iters");
    config.eval_every = a.at("eval_interval");
    config.steps = static_cast<std::int64_t>(iterations.back()) + 1;
    INFO("dropout " << config.model.dropout << ", micro-batches " << config.micro_batches);
    const TrainData data(config, tokenizer, *text, "tinyshakespeare.txt");
    Recorder seen;
    Trainer(config, tokenizer, data).run(nullptr, seen);

    std::vector<double> actual;
    REQUIRE(seen.evaluations.size() == evaluated.size() + 1);
    for (std::size_t i = 0; i < evaluated.size(); ++i) {
      CHECK(seen.evaluations[i].step == evaluated[i]);
      actual.push_back(seen.evaluations[i].train_loss);
      actual.push_back(seen.evaluations[i].val_loss.value());
    }
    for (const std::size_t i : iterations) actual.push_back(seen.steps.at(i).loss);
    const auto expected = entry.at("expected").get<std::vector<double>>();
    REQUIRE(actual.size() == expected.size());
    for (std::size_t i = 0; i < actual.size(); ++i)
      CHECK_MESSAGE(std::abs(actual[i] - expected[i]) <= entry.at("tol").get<double>(),
                    "number " << i << " is " << actual[i] << ", expected " << expected[i]);
    ++checked;
  }
  CHECK(checked >= 2);
}

}  // namespace
}  // namespace minigpt::reference
