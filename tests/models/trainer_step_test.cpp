// What an update is made of: its dropout masks, what a watcher is shown, and what its state remembers.

#include <doctest/doctest.h>

#include "models/trainer.h"
#include "models/watch.h"
#include "nn/files.h"
#include "tensor/dispatch.h"
#include "tests/models/tiny_models.h"
#include "tests/nn/temporary_folder.h"

namespace minigpt {
namespace {

using test::Recorder;
using test::TemporaryFolder;
using test::tiny_run;
using test::TinyData;

TEST_CASE("trainer: dropout masks come from the seed, and every micro-batch has its own") {
  // A text with a single window, so that nothing else depends on the seed or the micro-batch.
  TrainConfig config = tiny_run();
  config.train_fraction = 1;
  config.batch_size = 1;
  config.steps = 1;
  const TinyData tiny(config, U"abcdefgha");
  Trainer start(config, tiny.tokenizer, tiny.data);
  const auto loss = [&](double p, std::int64_t seed, std::int64_t micro_batches) {
    TrainConfig c = config;
    c.model.dropout = p;
    c.seed = seed;
    c.micro_batches = micro_batches;
    Trainer trainer(c, tiny.tokenizer, tiny.data);
    trainer.start_from(start.model());
    Recorder seen;
    trainer.run(nullptr, seen);
    return seen.steps[0].loss;  // of the last micro-batch
  };
  CHECK(loss(0.5, 1, 1) == loss(0.5, 1, 1));
  CHECK(loss(0.5, 1, 1) != loss(0.5, 2, 1));
  CHECK(loss(0.5, 1, 1) != loss(0.5, 1, 2));
  CHECK(loss(0, 1, 1) == loss(0, 2, 1));
  CHECK(loss(0, 1, 1) == loss(0, 1, 2));
}

TEST_CASE("trainer: a watcher is shown the tokens of the last micro-batch") {
  TrainConfig config = tiny_run();
  config.documents = true;
  config.batch_size = 1;
  config.micro_batches = 3;
  config.steps = 4;
  const TinyData tiny(config, U"ab\nabc\nbca\ncab\naabbcc\ncc\nbab\n");
  struct Seen : UpdateWatcher {
    std::vector<std::vector<std::int32_t>> inputs;
    bool due(std::int64_t) const override { return true; }
    void before_update(const UpdateView& v) override { inputs.push_back(v.inputs.to_vector<std::int32_t>()); }
  } seen;
  Trainer trainer(config, tiny.tokenizer, tiny.data);
  trainer.set_watcher(&seen);
  Recorder ignored;
  trainer.run(nullptr, ignored);
  REQUIRE(seen.inputs.size() == 4);
  Generator unused;
  for (std::int64_t step = 0; step < 4; ++step)
    CHECK(seen.inputs[static_cast<std::size_t>(step)] ==
          tiny.data.train_batch(3 * step + 2, unused).inputs.to_vector<std::int32_t>());
}

TEST_CASE("trainer: the state names the kernels, and holds the watcher's log as it was") {
  TrainConfig config = tiny_run();
  config.save_every = 10;
  const TinyData tiny(config);
  const TemporaryFolder temporary;
  const ModelFolder folder(temporary.path());
  Trainer trainer(config, tiny.tokenizer, tiny.data);
  Watch watch(temporary / "watch.jsonl", 5, 0);
  trainer.set_watcher(&watch);
  Recorder ignored;
  trainer.run(&folder, ignored);
  const TrainState state = folder.load_state();
  CHECK(state.kernel_set == kernel_set().name);
  REQUIRE(state.logs.contains("watch.jsonl"));
  const std::string log = read_file(temporary / "watch.jsonl");
  CHECK(state.logs.at("watch.jsonl") == FileSeal{static_cast<std::int64_t>(log.size()), checksum(log)});
}

TEST_CASE("resume: a state that does not say what it belongs to is taken, and says so from then on") {
  const TrainConfig config = tiny_run();
  const TinyData tiny(config);
  const TemporaryFolder temporary;
  const ModelFolder folder(temporary.path());
  Recorder ignored;
  Trainer(config, tiny.tokenizer, tiny.data).run(&folder, ignored);
  TrainState state = folder.load_state();
  const std::string settings = std::exchange(state.settings, ""),
                    tokenizer = std::exchange(state.tokenizer, "");
  REQUIRE(settings == settings_checksum([&] {
            TrainConfig full = config;
            full.model.vocab_size = tiny.tokenizer.vocab_size();
            return full;
          }()));
  write_file_atomically(folder.last() / "state.json", std::string_view(to_json(state)));
  TrainConfig longer = config;
  longer.steps = 21;
  Trainer trainer(longer, tiny.tokenizer, tiny.data);
  trainer.resume(folder);
  trainer.run(&folder, ignored);
  CHECK(folder.load_state().settings == settings);
  CHECK(folder.load_state().tokenizer == tokenizer);
}

TEST_CASE("resume: with documents, the one in hand must be the next one") {
  TrainConfig config = tiny_run();
  config.documents = true;
  config.batch_size = 1;
  const TinyData tiny(config, U"ab\nabc\nbca\ncab\naabbcc\ncc\nbab\n");
  const TemporaryFolder temporary;
  const ModelFolder folder(temporary.path());
  Recorder ignored;
  Trainer(config, tiny.tokenizer, tiny.data).run(&folder, ignored);
  TrainState state = folder.load_state();
  REQUIRE(state.batch_offsets == std::vector<std::int64_t>{2});  // document 20 of six, counted around
  state.batch_offsets[0] = 3;
  write_file_atomically(folder.last() / "state.json", std::string_view(to_json(state)));
  Trainer trainer(config, tiny.tokenizer, tiny.data);
  CHECK_THROWS_WITH_AS(trainer.resume(folder),
                       doctest::Contains("document 3 is in hand, after step 20 it must be 2"), Error);
}

}  // namespace
}  // namespace minigpt
