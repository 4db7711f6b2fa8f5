// A run that is stopped and goes on must end where an unbroken one ends, bit for bit.

#include <doctest/doctest.h>

#include "models/trainer.h"
#include "nn/files.h"
#include "nn/tensor_file.h"
#include "tests/models/tiny_models.h"
#include "tests/nn/temporary_folder.h"

namespace minigpt {
namespace {

using test::Recorder;
using test::TemporaryFolder;
using test::tiny_run;
using test::TinyData;
using test::weights_of;

// Notes the batch in hand after every step; needs save_every = 1.
struct BatchRecorder : Recorder {
  const Trainer* trainer = nullptr;
  std::vector<std::vector<std::int64_t>> batches;
  void on_save(std::int64_t step) override {
    Recorder::on_save(step);
    batches.push_back(trainer->state().batch_offsets);
  }
};

// Everything in last/, as bytes.
std::vector<std::string> last_of(const ModelFolder& folder) {
  return {read_file(folder.last() / "model.safetensors"), read_file(folder.last() / "optimizer.safetensors"),
          read_file(folder.last() / "state.json")};
}

// Trains to each of the step counts in turn, every time with a new trainer that knows only the folder.
void train_in_parts(TrainConfig config, const TinyData& tiny, const std::vector<std::int64_t>& ends,
                    const ModelFolder& folder, BatchRecorder& seen) {
  for (std::size_t i = 0; i < ends.size(); ++i) {
    config.steps = ends[i];
    Trainer trainer(config, tiny.tokenizer, tiny.data);
    if (i > 0) trainer.resume(folder);
    seen.trainer = &trainer;
    CHECK(trainer.run(&folder, seen) == StopReason::finished);
  }
}

std::vector<double> losses_of(const Recorder& seen) {
  std::vector<double> losses;
  for (const StepReport& s : seen.steps) losses.push_back(s.loss);
  return losses;
}

TEST_CASE("resume: in two or four parts, the same batches, losses and bits as in one go (T-03, T-05)") {
  struct Variant {
    const char* name;
    bool torch_dropout, documents;
    std::int64_t micro_batches;
    const char* eval_mode;
    const char* optimizer = "adamw";
  };
  for (const Variant& v :
       {Variant{"counter dropout", false, false, 1, "batches"},
        Variant{"torch dropout", true, false, 1, "batches"},
        Variant{"micro-batches", true, false, 2, "batches"}, Variant{"windows", false, false, 1, "windows"},
        Variant{"documents", true, true, 1, "batches"},
        Variant{"muon", false, false, 1, "windows", "muon"}}) {
    INFO(v.name);
    TrainConfig config = tiny_run();
    config.torch_dropout = v.torch_dropout;
    config.documents = v.documents;
    config.micro_batches = v.micro_batches;
    config.eval_mode = v.eval_mode;
    config.optimizer = v.optimizer;
    config.save_every = 1;
    if (v.documents) config.batch_size = 1;
    const TinyData tiny(config,
                        v.documents ? U"ab\nabc\nbca\ncab\naabbcc\ncc\nbab\n" : test::random_text(400));

    const TemporaryFolder whole, two, four;
    BatchRecorder in_one, in_two, in_four;
    train_in_parts(config, tiny, {20}, ModelFolder(whole.path()), in_one);
    train_in_parts(config, tiny, {10, 20}, ModelFolder(two.path()), in_two);
    train_in_parts(config, tiny, {5, 10, 15, 20}, ModelFolder(four.path()), in_four);

    REQUIRE(in_one.batches.size() == 20);
    CHECK(in_two.batches == in_one.batches);
    CHECK(in_four.batches == in_one.batches);
    CHECK(losses_of(in_two) == losses_of(in_one));
    CHECK(losses_of(in_four) == losses_of(in_one));
    // Weights, optimiser and state, the best loss and what counts for early stopping included.
    const std::vector<std::string> expected = last_of(ModelFolder(whole.path()));
    CHECK(last_of(ModelFolder(two.path())) == expected);
    CHECK(last_of(ModelFolder(four.path())) == expected);
    CHECK(read_file(ModelFolder(four.path()).weights()) == read_file(ModelFolder(whole.path()).weights()));
  }
}

TEST_CASE("resume: at any step, evaluations that fall between two saves change nothing") {
  TrainConfig config = tiny_run();
  config.save_every = 1;
  const TinyData tiny(config);
  const TemporaryFolder whole, parts;
  BatchRecorder in_one, in_parts;
  train_in_parts(config, tiny, {20}, ModelFolder(whole.path()), in_one);
  train_in_parts(config, tiny, {1, 7, 8, 13, 20}, ModelFolder(parts.path()), in_parts);
  CHECK(losses_of(in_parts) == losses_of(in_one));
  CHECK(last_of(ModelFolder(parts.path()))[0] == last_of(ModelFolder(whole.path()))[0]);
  CHECK(last_of(ModelFolder(parts.path()))[1] == last_of(ModelFolder(whole.path()))[1]);
}

TEST_CASE("resume: an interrupted run has saved where it stopped, and goes on from there") {
  const TrainConfig config = tiny_run();  // save_every is far beyond the end
  const TinyData tiny(config);
  const TemporaryFolder whole, parts;
  BatchRecorder ignored;
  train_in_parts(config, tiny, {20}, ModelFolder(whole.path()), ignored);

  std::atomic<bool> interrupt = false;
  struct Stopper : Recorder {
    std::atomic<bool>* flag = nullptr;
    void on_step(const StepReport& report) override {
      Recorder::on_step(report);
      if (report.step == 9) *flag = true;  // the tenth update is made
    }
  } stopper;
  stopper.flag = &interrupt;
  const ModelFolder folder(parts.path());
  {
    Trainer trainer(config, tiny.tokenizer, tiny.data);
    CHECK(trainer.run(&folder, stopper, &interrupt) == StopReason::interrupted);
    CHECK(stopper.saves == std::vector<std::int64_t>{10});
    CHECK(folder.load_state().step == 10);
  }
  Trainer trainer(config, tiny.tokenizer, tiny.data);
  trainer.resume(folder);
  // Still asked to stop: nothing happens, and nothing needs saving.
  CHECK(trainer.run(&folder, stopper, &interrupt) == StopReason::interrupted);
  CHECK(stopper.saves.size() == 1);
  interrupt = false;
  Recorder rest;
  CHECK(trainer.run(&folder, rest, &interrupt) == StopReason::finished);
  CHECK(rest.steps.size() == 10);
  CHECK(last_of(folder) == last_of(ModelFolder(whole.path())));
}

TEST_CASE("resume: what does not fit is refused, and the trainer stays as it was") {
  const TrainConfig config = tiny_run();
  const TinyData tiny(config);
  const TemporaryFolder temporary;
  const ModelFolder folder(temporary.path());
  BatchRecorder ignored;
  train_in_parts(config, tiny, {20}, folder, ignored);

  const auto refused = [&](const TrainConfig& c, const TinyData& data, const char* why) {
    Trainer trainer(c, data.tokenizer, data.data);
    const std::vector<float> before = weights_of(trainer.model());
    CHECK_THROWS_WITH_AS(trainer.resume(folder), doctest::Contains(why), Error);
    CHECK(weights_of(trainer.model()) == before);
    CHECK(trainer.state().step == 0);
  };
  refused(config, TinyData(config, test::random_text(400, 9)),
          "the text is not the one this run was started on");
  TrainConfig wider = config;
  wider.model.n_embd = 32;
  refused(wider, tiny, "(8, 16) in the file, (8, 32) in the model");
  TrainConfig deeper = config;
  deeper.model.n_layer = 3;
  refused(deeper, tiny, "missing: transformer.h.2.ln_1.weight");

  // A batch that the text does not have.
  const TrainState good = folder.load_state();
  TrainState state = good;
  const auto put = [&](const TrainState& s) {
    write_file_atomically(folder.last() / "state.json", std::string_view(to_json(s)));
  };
  state.batch_offsets[0] = 99999;
  put(state);
  refused(config, tiny, "window 99999 is outside");
  state.batch_offsets.pop_back();
  put(state);
  refused(config, tiny, "the batch in hand has 2 windows, not 3");
  put(good);
  TrainConfig faster = config;
  faster.learning_rate *= 2;
  refused(faster, tiny, "the run was made with other settings");
  // How long a run goes on may change.
  TrainConfig longer = config;
  longer.steps = 1000;
  Trainer(longer, tiny.tokenizer, tiny.data).resume(folder);

  const TemporaryFolder empty;
  Trainer trainer(config, tiny.tokenizer, tiny.data);
  CHECK_THROWS_WITH_AS(trainer.resume(ModelFolder(empty.path())), doctest::Contains("no saved state"), Error);
}

TEST_CASE("start_from: fine-tuning begins with the other model's weights, and with a fresh optimiser") {
  const TrainConfig config = tiny_run();
  const TinyData tiny(config), other_text(config, test::random_text(400, 7));
  Trainer first(config, tiny.tokenizer, tiny.data);
  Recorder ignored;
  first.run(nullptr, ignored);
  Trainer second(config, other_text.tokenizer, other_text.data);
  second.start_from(first.model());
  CHECK(weights_of(second.model()) == weights_of(first.model()));
  CHECK(second.state().step == 0);
  const std::vector<float> before = weights_of(first.model());
  second.run(nullptr, ignored);
  CHECK(weights_of(first.model()) == before);  // nothing is shared
  TrainConfig wider = config;
  wider.model.n_embd = 32;
  Trainer third(wider, tiny.tokenizer, tiny.data);
  CHECK_THROWS_WITH_AS(third.start_from(first.model()),
                       doctest::Contains("the model to start from does not fit"), Error);
}

}  // namespace
}  // namespace minigpt
