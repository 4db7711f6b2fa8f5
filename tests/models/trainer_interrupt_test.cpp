// A run that stops in the middle of something makes it again when it goes on: nothing is drawn or counted twice.

#include <doctest/doctest.h>

#include "autograd/watch.h"
#include "models/trainer.h"
#include "nn/files.h"
#include "tests/models/tiny_models.h"
#include "tests/nn/temporary_folder.h"

namespace minigpt {
namespace {

using test::Recorder;
using test::TemporaryFolder;
using test::tiny_run;
using test::TinyData;

// A text without any order, learnt by heart: evaluations get worse, so that they count for early stopping.
TrainConfig overfitting_run() {
  TrainConfig config = tiny_run();
  config.learning_rate = 1e-2;
  config.min_lr = 1e-2;
  config.eval_every = 10;
  config.eval_batches = 4;
  config.steps = 100;
  config.train_fraction = 0.5;
  config.micro_batches = 2;
  return config;
}

std::u32string short_text() { return test::random_text(200); }

// Everything in last/, as bytes.
std::vector<std::string> last_of(const ModelFolder& folder) {
  return {read_file(folder.last() / "model.safetensors"), read_file(folder.last() / "optimizer.safetensors"),
          read_file(folder.last() / "state.json")};
}

std::vector<std::string> unbroken(const TrainConfig& config, const TinyData& tiny) {
  const TemporaryFolder temporary;
  const ModelFolder folder(temporary.path());
  Trainer trainer(config, tiny.tokenizer, tiny.data);
  Recorder ignored;
  CHECK(trainer.run(&folder, ignored) == StopReason::finished);
  return last_of(folder);
}

void finish(const TrainConfig& config, const TinyData& tiny, const ModelFolder& folder) {
  Trainer trainer(config, tiny.tokenizer, tiny.data);
  trainer.resume(folder);
  Recorder ignored;
  CHECK(trainer.run(&folder, ignored) == StopReason::finished);
}

// Asks the run to stop at the evaluation of step 90: in its middle, a few operations after its start, or at its end, which
// is before the update.
struct Stopper : Recorder, Watcher {
  bool in_the_middle = false;
  std::atomic<bool> stop = false;
  int operations = -1;  // since the start of that evaluation
  void on_evaluation_start(std::int64_t step) override { operations = step == 90 ? 0 : -1; }
  void on_forward(const char*, const Variable&, const Variable*, std::size_t) override {
    if (operations >= 0 && ++operations == 5 && in_the_middle) stop = true;
  }
  void on_evaluation(const EvalReport& report) override {
    Recorder::on_evaluation(report);
    if (report.step == 90) stop = true;
  }
};

TEST_CASE("interrupt: in an evaluation, or in the update after it, costs no bit of the run") {
  const TrainConfig config = overfitting_run();
  const TinyData tiny(config, short_text());
  const std::vector<std::string> expected = unbroken(config, tiny);
  for (const bool in_the_middle : {true, false}) {
    CAPTURE(in_the_middle);
    const TemporaryFolder temporary;
    const ModelFolder folder(temporary.path());
    {
      Trainer trainer(config, tiny.tokenizer, tiny.data);
      Stopper stopper;
      stopper.in_the_middle = in_the_middle;
      CHECK(trainer.run(&folder, stopper, &stopper.stop) == StopReason::interrupted);
      CHECK(trainer.state().step == 90);
      CHECK(stopper.evaluations.back().step == (in_the_middle ? 80 : 90));
      REQUIRE_FALSE(stopper.evaluations.back().best);  // it has counted
    }
    finish(config, tiny, folder);
    CHECK(last_of(folder) == expected);
  }
}

TEST_CASE("early stopping: a run that goes on after all ends as if it had never stopped") {
  TrainConfig config = overfitting_run();
  const TinyData tiny(config, short_text());
  const std::vector<std::string> expected = unbroken(config, tiny);
  const TemporaryFolder temporary;
  const ModelFolder folder(temporary.path());
  config.early_stop = 2;
  {
    Trainer trainer(config, tiny.tokenizer, tiny.data);
    Recorder ignored;
    CHECK(trainer.run(&folder, ignored) == StopReason::early_stop);
    CHECK(folder.load_state().evaluations_since_best == 1);  // the last one will be made again
  }
  config.early_stop = 0;
  finish(config, tiny, folder);
  CHECK(last_of(folder) == expected);
}

TEST_CASE("resume: the evaluation at the end of a run, made again by the next one, is still the best") {
  TrainConfig config = overfitting_run();
  config.eval_mode = "windows";
  config.steps = 10;
  const TinyData tiny(config, short_text());
  const TemporaryFolder temporary;
  const ModelFolder folder(temporary.path());
  Recorder first, second;
  Trainer(config, tiny.tokenizer, tiny.data).run(&folder, first);
  REQUIRE(first.evaluations.back().best);
  config.steps = 11;
  Trainer trainer(config, tiny.tokenizer, tiny.data);
  trainer.resume(folder);
  trainer.run(&folder, second);
  CHECK(second.evaluations.front().step == 10);
  CHECK(second.evaluations.front().best);
  CHECK(trainer.state().evaluations_since_best == 0);
}

TEST_CASE("best weights: an equal loss is no better one") {
  TrainConfig config = tiny_run();
  config.eval_mode = "windows";
  config.learning_rate = config.min_lr = 1e-30;  // far below the last digit of any weight
  config.weight_decay = 0;
  const TinyData tiny(config);
  Trainer trainer(config, tiny.tokenizer, tiny.data);
  Recorder seen;
  trainer.run(nullptr, seen);
  REQUIRE(seen.evaluations[3].val_loss == seen.evaluations[1].val_loss);
  CHECK(trainer.state().best_step == 5);
  CHECK(trainer.state().evaluations_since_best == 2);  // at 10 and 15; that at the end does not count
}

}  // namespace
}  // namespace minigpt
