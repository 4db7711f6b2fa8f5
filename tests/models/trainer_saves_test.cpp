// T-01: what is saved is always worth going on from. Weights that went wrong are noticed by the next loss; a save that
// comes before it must notice them itself.

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "models/trainer.h"
#include "nn/tensor_file.h"
#include "tensor/reduce.h"
#include "tests/models/tiny_models.h"
#include "tests/nn/temporary_folder.h"

namespace minigpt {
namespace {

using test::Recorder;
using test::TemporaryFolder;
using test::tiny_run;
using test::TinyData;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// Does something to the model after a number of updates.
struct Meddler : Recorder {
  std::int64_t after = 0;
  std::function<void()> meddle;
  void on_step(const StepReport& report) override {
    Recorder::on_step(report);
    if (report.step + 1 == after) meddle();
  }
};

// The message with which a run ends; "" if it does not fail.
std::string failure(Trainer& trainer, const ModelFolder& folder, TrainListener& listener,
                    const std::atomic<bool>* interrupt = nullptr) {
  try {
    trainer.run(&folder, listener, interrupt);
  } catch (const RunError& error) {
    return error.what();
  }
  return "";
}

TEST_CASE("T-01: weights that an update has ruined are not saved, however often states are") {
  TrainConfig config = tiny_run();
  config.save_every = 1;
  config.eval_every = 1000;
  config.grad_clip = 0;
  config.learning_rate =
      1e30;  // a float32 has room for such weights, but not for what they are multiplied with
  config.schedule = "constant";
  const TinyData tiny(config);
  const TemporaryFolder temporary;
  const ModelFolder folder(temporary.path());
  Trainer trainer(config, tiny.tokenizer, tiny.data);
  Recorder seen;
  const std::string message = failure(trainer, folder, seen);
  CHECK_MESSAGE(message.starts_with("[train] step 1: the loss after the last update is "), message);
  CHECK(message.find("try a lower --learning-rate or --grad-clip 1") != message.npos);
  CHECK(seen.saves.empty());
  CHECK_FALSE(folder.has_last());
}

TEST_CASE("T-01: the last good state stays, whatever the occasion for the next save") {
  TrainConfig config = tiny_run();
  config.save_every = 2;
  config.eval_every = 1000;
  const TinyData tiny(config);
  for (const char* occasion : {"a save that is due", "the end of the run", "Ctrl-C"}) {
    CAPTURE(occasion);
    TrainConfig run = config;
    const TemporaryFolder temporary;
    const ModelFolder folder(temporary.path());
    std::atomic<bool> interrupt = false;
    Meddler meddler;
    meddler.after = 4;
    if (std::string(occasion) != "a save that is due") meddler.after = 5;
    if (std::string(occasion) == "the end of the run") run.steps = 5;
    Trainer trainer(run, tiny.tokenizer, tiny.data);
    meddler.meddle = [&] {
      trainer.model().transformer.h[1].mlp.c_fc.bias.mutable_value().mutable_data<float>()[3] = kNan;
      if (std::string(occasion) == "Ctrl-C") interrupt = true;
    };
    const std::string message = failure(trainer, folder, meddler, &interrupt);
    CHECK_MESSAGE(
        message.find("transformer.h.1.mlp.c_fc.bias holds values that are not finite") != message.npos,
        message);
    const TrainState state = folder.load_state();
    CHECK(state.step == (meddler.after == 4 ? 2 : 4));
    for (const NamedTensor& t : load_tensors(folder.last() / "model.safetensors"))
      CHECK(all_finite(t.tensor));
    // From there a run goes on.
    Trainer again(config, tiny.tokenizer, tiny.data);
    again.resume(folder);
    Recorder seen;
    CHECK(failure(again, folder, seen) == "");
    CHECK(again.state().step == 20);
  }
}

TEST_CASE("T-01: weights with a NaN that an evaluation does not meet are not the best either") {
  TrainConfig config = tiny_run();
  config.eval_every = 5;
  config.steps = 8;
  // The character 'h' occurs once, in the middle of the part for training; evaluations read validation text.
  std::u32string text = test::random_text(400);
  for (char32_t& c : text)
    if (c == U'h') c = U'a';
  text[100] = U'h';
  config.model.tie_weights = false;
  config.eval_mode = "windows";
  const TinyData tiny(config, text);
  const TemporaryFolder temporary;
  const ModelFolder folder(temporary.path());
  Trainer trainer(config, tiny.tokenizer, tiny.data);
  Meddler meddler;
  meddler.after = 5;
  meddler.meddle = [&] {
    Tensor& wte = trainer.model().transformer.wte.weight.mutable_value();
    wte.mutable_data<float>()[7 * wte.dim(1)] = kNan;  // the row of 'h'
  };
  CHECK(failure(trainer, folder, meddler) != "");
  for (const EvalReport& e : meddler.evaluations) CHECK_FALSE(e.best);
  CHECK_FALSE(std::filesystem::exists(folder.weights()));
}

}  // namespace
}  // namespace minigpt
