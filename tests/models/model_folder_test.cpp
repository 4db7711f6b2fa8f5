#include "models/model_folder.h"

#include <doctest/doctest.h>

#include <limits>

#include "nn/files.h"
#include "nn/tensor_file.h"
#include "tests/models/saved_run.h"
#include "tests/nn/temporary_folder.h"

namespace minigpt {
namespace {

using test::contains;
using test::message_of;
using test::overwrite;
using test::Saved;
using test::TemporaryFolder;
using test::weights_of;

TEST_CASE("model folder: weights, optimiser and state come back exactly") {
  const TemporaryFolder temporary;
  const ModelFolder folder(temporary.path());
  CHECK_FALSE(folder.has_model());
  CHECK_FALSE(folder.has_last());
  Saved saved;
  saved.write(folder);
  CHECK(folder.has_model());
  CHECK(folder.has_last());
  CHECK(temporary.names() ==
        std::vector<std::string>{"config.json", "last", "model.safetensors", "tokenizer.json"});

  Generator rng(99);
  Gpt gpt(saved.gpt.config, rng);
  Adam optimizer(decay_groups(gpt.parameters(), 0.01, 0.1));
  const TrainState state = folder.load_last(gpt.parameters(), optimizer);
  CHECK(weights_of(gpt) == weights_of(saved.gpt));
  const std::vector<NamedTensor> a = optimizer.state(), b = saved.optimizer.state();
  REQUIRE(a.size() == b.size());
  for (std::size_t i = 0; i + 1 < a.size(); ++i)
    CHECK(a[i].tensor.to_vector<float>() == b[i].tensor.to_vector<float>());
  CHECK(a.back().tensor.to_vector<std::int32_t>() == b.back().tensor.to_vector<std::int32_t>());
  CHECK(state.weights.size() == 16);  // the checksums of its files come with the save
  CHECK(state.optimizer.size() == 16);
  TrainState before = saved.state;
  before.weights = state.weights;
  before.optimizer = state.optimizer;
  CHECK(to_json(state) == to_json(before));
  CHECK(state.generator == saved.state.generator);
  CHECK(state.best_loss == saved.state.best_loss);
  CHECK(state.batch_offsets == saved.state.batch_offsets);
  CHECK(state.data_path == saved.state.data_path);
  CHECK(folder.load_tokenizer() == saved.tokenizer);
  CHECK(to_json(folder.load_config()) == to_json(saved.config));
}

TEST_CASE("model folder: load_model takes the best weights, and draws what the constructor draws") {
  const TemporaryFolder temporary;
  const ModelFolder folder(temporary.path());
  Saved saved;
  saved.write(folder);
  saved.gpt.transformer.wpe.weight.mutable_value().fill_(0.5);
  folder.save_best(saved.gpt.parameters());
  Generator rng(1), other(1);
  const LoadedModel loaded = load_model(temporary.path(), rng);
  CHECK(weights_of(*loaded.model) == weights_of(saved.gpt));
  CHECK(loaded.warnings.empty());
  const Gpt constructed(saved.gpt.config, other);
  CHECK(rng.state() == other.state());
  // Tied as before: one change reaches both ends.
  CHECK(loaded.model->lm_head.weight.is(loaded.model->transformer.wte.weight));

  std::filesystem::remove(folder.weights());  // before the first evaluation there is only last/
  const LoadedModel last = load_model(temporary.path(), rng);
  CHECK(weights_of(*last.model) != weights_of(saved.gpt));
  std::filesystem::remove_all(folder.last());
  CHECK(contains(message_of([&] { load_model(temporary.path(), rng); }), "there are no weights yet"));
}

TEST_CASE("model folder: weights that are not finite are a warning with the name (S-04)") {
  const TemporaryFolder temporary;
  const ModelFolder folder(temporary.path());
  Saved saved;
  saved.gpt.transformer.h[1].mlp.c_fc.weight.mutable_value().mutable_data<float>()[3] =
      std::numeric_limits<float>::quiet_NaN();
  saved.write(folder);
  Generator rng(1);
  const LoadedModel loaded = load_model(temporary.path(), rng);
  REQUIRE(loaded.warnings.size() == 1);
  CHECK(contains(loaded.warnings[0], "transformer.h.1.mlp.c_fc.weight"));
}

TEST_CASE("model folder: what is missing is named with its path") {
  const TemporaryFolder temporary;
  Generator rng(1);
  CHECK(contains(message_of([&] { load_model(temporary / "nowhere", rng); }), "nowhere: no such folder"));
  CHECK(contains(message_of([&] { load_model(temporary.path(), rng); }), "it has no config.json"));
  const ModelFolder folder(temporary.path());
  Saved saved;
  CHECK(contains(message_of([&] { folder.load_last(saved.gpt.parameters(), saved.optimizer); }),
                 "no saved state to resume from"));
  CHECK(contains(message_of([&] { folder.load_state(); }), temporary.path().string()));
}

TEST_CASE("model folder: damaged or foreign files are clear errors") {
  const TemporaryFolder temporary;
  const ModelFolder folder(temporary.path());
  Generator rng(1);
  const auto damage = [&](const std::filesystem::path& path, const std::string& content) {
    Saved().write(folder);
    overwrite(path, content);
    return message_of([&] { load_model(temporary.path(), rng); });
  };
  const std::string weights = [&] {
    Saved().write(folder);
    return read_file(folder.weights());
  }();
  for (const std::size_t length :
       {std::size_t{0}, std::size_t{5}, std::size_t{60}, weights.size() / 2, weights.size() - 1})
    CHECK(contains(damage(folder.weights(), weights.substr(0, length)), "model.safetensors"));
  CHECK(contains(damage(folder.weights(), "<html></html>"), "HTML"));
  CHECK(contains(damage(folder.config(), "{"), "config.json: not valid JSON"));
  CHECK(contains(damage(folder.config(), "{}"), "config.json: not a minigpt config"));
  CHECK(contains(damage(folder.tokenizer(), "{}"), "tokenizer.json"));
  CHECK(contains(damage(folder.tokenizer(), CharTokenizer::from_text(U"abcd").to_json()),
                 "tokenizer.json has 4 entries, config.json says vocab_size 5"));
  // Weights of another shape: the configuration counts, and the difference is listed.
  Saved other;
  TrainConfig wider = other.config;
  wider.model.block_size = 16;
  Saved().write(folder);
  folder.save_config(wider);
  CHECK(contains(message_of([&] { load_model(temporary.path(), rng); }),
                 "transformer.wpe.weight: (8, 16) in the file, (16, 16) in the model"));
}

TEST_CASE("model folder: resuming from a damaged state changes nothing") {
  const TemporaryFolder temporary;
  const ModelFolder folder(temporary.path());
  Saved saved;
  const auto tried = [&](const std::filesystem::path& path, const std::string& content) {
    saved.write(folder);
    overwrite(path, content);
    Generator rng(50);
    Gpt gpt(saved.gpt.config, rng);
    Adam optimizer(decay_groups(gpt.parameters(), 0.01, 0.1));
    const std::vector<float> before = weights_of(gpt);
    const std::string message = message_of([&] { folder.load_last(gpt.parameters(), optimizer); });
    CHECK(weights_of(gpt) == before);
    CHECK(optimizer.state().back().tensor.to_vector<std::int32_t>()[0] == 0);
    return message;
  };
  CHECK(contains(tried(folder.last() / "state.json", "{}"), "not a minigpt state"));
  CHECK(contains(tried(folder.last() / "model.safetensors", "rubbish"), "model.safetensors"));
  CHECK(contains(tried(folder.last() / "optimizer.safetensors", "rubbish"), "optimizer.safetensors"));
  // A whole file, but of another optimiser: found before the weights are touched.
  save_tensors(temporary / "other.safetensors", {{"steps", zeros({1}, DType::i32)}});
  const std::string other = read_file(temporary / "other.safetensors");
  CHECK(contains(tried(folder.last() / "optimizer.safetensors", other),
                 "this is not the file that state.json was saved with"));
  // Without the checksums of its files, as before there were any.
  overwrite(folder.last() / "state.json", to_json(saved.state));
  CHECK(contains(message_of([&] { folder.load_last(saved.gpt.parameters(), saved.optimizer); }),
                 "the saved state lacks"));
}

TEST_CASE("state.json: strict: a field that is missing, of another type or out of range is named") {
  const Saved saved;
  const std::string good = to_json(saved.state);
  const auto refusal = [](const std::string& json) {
    return message_of([&] { train_state_from_json(json, "state.json"); });
  };
  CHECK(refusal(good) == "");
  const auto with = [&](const std::string& old, const std::string& fresh) {
    std::string changed = good;
    const std::size_t at = changed.find(old);
    REQUIRE_MESSAGE(at != std::string::npos, old);
    changed.replace(at, old.size(), fresh);
    return refusal(changed);
  };
  for (const char* key :
       {"step", "best_loss", "best_step", "evaluations_since_best", "batch_offsets", "text_fingerprint",
        "data_path", "kernel_set", "generator", "words", "position", "pending"})
    CHECK(contains(with("\"" + std::string(key) + "\"", "\"x\""), key));
  for (const char* bad :
       {"7.5", "-1", "true", "\"7\"", "null", "1e30", "99999999999999999999", "70368744177664"})
    CHECK(contains(with("\"step\": 7", "\"step\": " + std::string(bad)),
                   "step has the wrong type or is out of range"));
  CHECK(contains(with("\"position\": ", "\"position\": 9"), "position"));
  CHECK(contains(with("\"data_path\": ", "\"data_path\": 1, \"y\": "), "data_path has the wrong type"));
  CHECK(contains(with("\"words\": [", "\"words\": [1,"), "has 625 words, not 624"));
  CHECK(contains(with("\"words\": [", "\"words\": [-1,"), "words has the wrong type or is out of range"));
  CHECK(contains(with("\"words\": [", "\"words\": [4294967296,"),
                 "words has the wrong type or is out of range"));
  CHECK(contains(with("\"version\": 2", "\"version\": 3"), "version 3 is not known"));
  CHECK(contains(with("\"version\": 2", "\"version\": 1"), "version 1 has no checksum, the file is damaged"));
  CHECK(contains(with("\"best_step\": 5", "\"best_step\": 4"), "its checksum differs"));
  CHECK(contains(with("400-abc", "400-abd"), "its checksum differs"));
  CHECK(contains(with("\"logs\": {", "\"logs\": {\"a\": 1"), "bytes is missing"));
  CHECK(contains(with("minigpt-state", "other"), "not a minigpt state"));
  CHECK(contains(refusal("[]"), "must be a JSON object, not array"));
  CHECK(contains(refusal(good.substr(0, good.size() / 2)), "not valid JSON"));
}

TEST_CASE("state.json: what is absent stays absent") {
  TrainState state;
  state.generator = Generator(1).state();
  const TrainState back = train_state_from_json(to_json(state), "state.json");
  CHECK_FALSE(back.best_loss.has_value());
  CHECK_FALSE(back.generator.has_pending);
  CHECK(back.generator == state.generator);
}

}  // namespace
}  // namespace minigpt
