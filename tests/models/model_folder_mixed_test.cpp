// Files of two runs in one folder: each says what it belongs to, so the mixture is noticed.
#include <doctest/doctest.h>

#include <string_view>

#include "models/model_folder.h"
#include "nn/files.h"
#include "nn/safetensors.h"
#include "tests/models/saved_run.h"
#include "tests/nn/temporary_folder.h"

namespace minigpt {
namespace {

using test::contains;
using test::message_of;
using test::Saved;
using test::TemporaryFolder;

// A run that knows what its files belong to, and its folder.
struct Run : Saved {
  TemporaryFolder temporary;
  ModelFolder folder{temporary.path()};

  Run() {
    config.text_fingerprint = state.text_fingerprint;
    state.settings = settings_checksum(config);
    state.tokenizer = checksum(tokenizer.to_json());
    save();
  }
  void save() {
    folder.save_config(config);
    tokenizer.save(folder.tokenizer());
    state.best = save_best(state.best_step);
    folder.save_last(gpt.parameters(), optimizer, state);
  }
  // Writes the best weights as those of `step`; returns the checksum.
  std::string save_best(std::int64_t step) {
    TrainState then = state;
    then.step = step;
    return folder.save_best(gpt.parameters(), then);
  }
  std::string load_model() const {
    Generator draws(1);
    return message_of([&] { minigpt::load_model(temporary.path(), draws); });
  }
  std::string load_last(const TrainState& own) const {
    Generator draws(2);
    Gpt fresh(config.model, draws);
    Adam memory(decay_groups(fresh.parameters(), 0.01, 0.1));
    return message_of([&] { folder.load_last(fresh.parameters(), memory, own); });
  }
};

// Rewrites a file of tensors without the entries of its free text that begin so, and without a checksum.
void forget(const std::filesystem::path& file, std::string_view prefix) {
  SafetensorsWriter writer;
  {
    const SafetensorsFile old = SafetensorsFile::open(file);
    for (const SafetensorsEntry& entry : old.entries()) {
      const auto bytes = old.bytes(entry);
      writer.add(entry.name, entry.dtype, entry.shape, {bytes.begin(), bytes.end()});
    }
    for (const auto& [key, value] : old.metadata())
      if (key != "minigpt.checksum" && !key.starts_with(prefix)) writer.set_metadata(key, value);
  }
  writer.write(file);
}

TEST_CASE("mixed folders: the files of one run fit") {
  const Run run;
  CHECK(run.load_model() == "");
  CHECK(run.load_last(run.state) == "");
  CHECK(message_of([&] { run.folder.check_state(run.folder.load_state(), run.config, run.tokenizer); }) ==
        "");
  CHECK(run.folder.check_best(run.folder.load_state()));
}

TEST_CASE("mixed folders: weights of other settings, another vocabulary, another text") {
  Run run;
  TrainConfig other = run.config;
  other.learning_rate *= 2;
  run.folder.save_config(other);
  CHECK(contains(run.load_model(), "model.safetensors: these weights were made with other settings"));
  other = run.config;
  other.text_fingerprint = "400-abd";
  run.folder.save_config(other);
  CHECK(contains(run.load_model(), "trained on another text"));
  other.text_fingerprint = "";  // a configuration that names none
  run.folder.save_config(other);
  CHECK(run.load_model() == "");
  run.folder.save_config(run.config);
  CharTokenizer::from_text(U"abcdx").save(run.folder.tokenizer());
  CHECK(contains(run.load_model(), "made with another vocabulary"));
}

TEST_CASE("mixed folders: weights that say where they come from must have their checksum") {
  const Run run;
  forget(run.folder.weights(), "minigpt.checksum");
  CHECK(contains(run.load_model(), "model.safetensors: the file is damaged: it has lost its checksum"));
  // Files of other programs, and of earlier versions, say nothing and have none.
  forget(run.folder.weights(), "minigpt.");
  CHECK(run.load_model() == "");
}

TEST_CASE("mixed folders: a state of other settings or another vocabulary is not loaded") {
  const Run run;
  TrainState own = run.state;
  own.settings = "0123456789abcdef";
  CHECK(contains(run.load_last(own), "the run was made with other settings"));
  own = run.state;
  own.tokenizer = "0123456789abcdef";
  CHECK(contains(run.load_last(own), "the run was made with another vocabulary"));
  CHECK(run.load_last({}) == "");  // nothing to compare with
}

TEST_CASE("mixed folders: weights or optimiser of another save") {
  for (const char* name : {"model.safetensors", "optimizer.safetensors"}) {
    Run run;
    const std::string old = read_file(run.folder.last() / name);
    run.gpt.transformer.wpe.weight.mutable_value().fill_(0.5);
    run.optimizer.step();
    run.state.step = 8;
    run.save();
    test::overwrite(run.folder.last() / name, old);
    CHECK(contains(run.load_last(run.state),
                   std::string(name) + ": this is not the file that state.json was saved with"));
  }
}

TEST_CASE("mixed folders: without checksums the optimiser must at least have made as many steps") {
  Run run;
  TrainState state = run.state;  // names no files
  for (const std::int64_t step : {6, 8}) {
    state.step = step;
    test::overwrite(run.folder.last() / "state.json", to_json(state));
    CHECK(contains(run.load_last(run.state), "it has made 7 steps, state.json says " + std::to_string(step)));
  }
  state.step = 7;
  test::overwrite(run.folder.last() / "state.json", to_json(state));
  CHECK(run.load_last(run.state) == "");
}

TEST_CASE("mixed folders: a run goes on with its own settings, vocabulary and text only") {
  const Run run;
  const TrainState state = run.folder.load_state();
  const auto refusal = [&](const TrainConfig& config, const CharTokenizer& tokenizer) {
    return message_of([&] { run.folder.check_state(state, config, tokenizer); });
  };
  TrainConfig other = run.config;
  other.learning_rate *= 2;
  CHECK(contains(refusal(other, run.tokenizer), "these are not the settings that the run was made with"));
  other = run.config;
  other.text_fingerprint = "400-abd";
  CHECK(contains(refusal(other, run.tokenizer),
                 "it names another text than the one that the run was made with"));
  other.text_fingerprint = "";
  CHECK(refusal(other, run.tokenizer) == "");
  CHECK(contains(refusal(run.config, CharTokenizer::from_text(U"abcdx")),
                 "tokenizer.json: this is not the vocabulary that the run was made with"));
  CHECK(contains(refusal(run.config, CharTokenizer::from_text(U"abcd")),
                 "tokenizer.json has 4 entries, config.json says vocab_size 5"));
}

// What check_best says of the best weights: "fine", "missing" or its refusal.
std::string best_of(const Run& run, const TrainState& state) {
  std::string verdict;
  const std::string refusal =
      message_of([&] { verdict = run.folder.check_best(state) ? "fine" : "missing"; });
  return refusal.empty() ? verdict : refusal;
}

TEST_CASE("mixed folders: the best weights are those that the state speaks of, or newer ones") {
  Run run;  // at step 7, the best ones are of step 5
  const TrainState state = run.state;
  TrainState none = state;  // before its first evaluation
  none.best_loss.reset(), none.best_step = 0, none.best = "";

  CHECK(best_of(run, state) == "fine");
  CHECK(
      contains(best_of(run, none), "the weights are of step 5, the best ones of this run do not exist yet"));

  run.save_best(4);
  CHECK(contains(best_of(run, state), "the weights are of step 4, the best ones of this run of step 5"));
  run.save_best(0);
  CHECK(
      contains(best_of(run, none), "the weights are of step 0, the best ones of this run do not exist yet"));
  for (const std::int64_t step : {7, 8, 20}) {  // saved after the state, before the run was stopped
    run.save_best(step);
    CHECK(best_of(run, state) == "fine");
    CHECK(best_of(run, none) == "fine");
  }
  run.gpt.transformer.wpe.weight.mutable_value().fill_(0.5);
  run.save_best(5);
  CHECK(contains(best_of(run, state), "these are not the weights of step 5 that state.json was saved with"));

  run.save_best(7);  // neither does a state know others than its own of the very step it was saved at
  TrainState evaluated = state;
  evaluated.best_step = 7;
  CHECK(contains(best_of(run, evaluated), "these are not the weights of step 7"));

  for (std::string TrainState::*part :
       {&TrainState::settings, &TrainState::tokenizer, &TrainState::text_fingerprint}) {
    TrainState other = state;
    other.*part = "0123456789abcdef";
    CHECK(contains(best_of(run, other), "the weights in it are of another run"));
  }

  std::filesystem::remove(run.folder.weights());
  CHECK(best_of(run, state) == "missing");
  CHECK(best_of(run, none) == "fine");
}

TEST_CASE("mixed folders: best weights from before they said anything") {
  const Run run;
  forget(run.folder.weights(), "minigpt.");
  CHECK(contains(best_of(run, run.state), "these are not the weights of step 5 that the run saved"));
  TrainState older = run.state;
  older.best = "";
  CHECK(best_of(run, older) == "fine");
  older.best_loss.reset();
  CHECK(best_of(run, older) == "fine");
}

TEST_CASE("mixed folders: a state from before it knew its best weights takes whatever step they are of") {
  Run run;
  TrainState older = run.state;
  older.best = "";
  run.save_best(4);
  CHECK(best_of(run, older) == "fine");
}

TEST_CASE("model folder: loading the state clears away what a broken save left, behind a link too") {
  Run run;
  const TemporaryFolder elsewhere;
  const std::filesystem::path moved = elsewhere / "last";
  std::filesystem::rename(run.folder.last(), moved);
  std::filesystem::create_symlink(moved, run.folder.last());
  // Process 999999999 does not exist.
  const std::filesystem::path left[] = {run.temporary / ".minigpt-tmp-999999999-1",
                                        elsewhere / ".minigpt-tmp-999999999-2"};
  for (const std::filesystem::path& path : left) std::filesystem::create_directory(path);
  run.folder.load_state();
  for (const std::filesystem::path& path : left) CHECK_FALSE(std::filesystem::exists(path));
}

TEST_CASE("model folder: settings that fit no model or no training are refused when they are read") {
  Run run;
  TrainConfig bad = run.config;
  bad.model.n_head = 3;
  run.folder.save_config(bad);
  CHECK(
      contains(message_of([&] { run.folder.load_config(); }), "n_embd must be divisible by n_head: 16 % 3"));
  bad = run.config;
  bad.documents = true;
  run.folder.save_config(bad);
  CHECK(contains(message_of([&] { run.folder.load_config(); }), "batch_size must be 1, got 3"));
}

TEST_CASE("model folder: a configuration of a giant beside small weights is refused before it is built") {
  Run run;
  TrainConfig giant = run.config;
  giant.model.n_embd = 4096;
  giant.model.n_layer = 8;
  run.folder.save_config(giant);
  CHECK(
      contains(message_of([&] { run.folder.load_config(); }), "config.json: describes a model of at least"));
  // 4 bytes times (1 layer * 12 * 1024 + 5 symbols) * 1024: below 64 MB whatever lies beside it.
  giant.model.n_embd = 1024;
  giant.model.n_layer = 1;
  run.folder.save_config(giant);
  CHECK(message_of([&] { run.folder.load_config(); }) == "");
  giant.model.n_layer = 2;
  run.folder.save_config(giant);
  CHECK(contains(message_of([&] { run.folder.load_config(); }), "describes a model of at least 101 MB"));
}

}  // namespace
}  // namespace minigpt
