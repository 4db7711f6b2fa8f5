// Anomaly mode in a training run.

#include <doctest/doctest.h>

#include <limits>

#include "autograd/anomaly.h"
#include "tests/models/tiny_models.h"

namespace minigpt::test {
namespace {

TEST_CASE(
    "trainer: with anomaly mode a run gives the same bits; a NaN in a weight stops it at its step and "
    "place") {
  const TrainConfig config = tiny_run();
  const TinyData tiny(config);
  std::vector<std::vector<float>> results;
  for (const bool detecting : {false, true}) {
    Trainer trainer(config, tiny.tokenizer, tiny.data);
    trainer.detect_anomalies(detecting);
    Recorder recorder;
    trainer.run(nullptr, recorder);
    results.push_back(weights_of(trainer.model()));
  }
  CHECK(results[0] == results[1]);

  struct Spoiler : TrainListener {
    Trainer* trainer = nullptr;
    void on_step(const StepReport& report) override {
      if (report.step != 6) return;  // after the update of step 6, so step 7 meets it
      Tensor& w = trainer->model().transformer.h[1].attn.c_proj.weight.mutable_value();
      w.mutable_data<float>()[17] = std::numeric_limits<float>::quiet_NaN();
    }
  } spoiler;
  Trainer trainer(config, tiny.tokenizer, tiny.data);
  spoiler.trainer = &trainer;
  trainer.detect_anomalies(true);
  try {
    trainer.run(nullptr, spoiler);
    FAIL("the run was not stopped");
  } catch (const Anomaly& anomaly) {
    CHECK(anomaly.report.step == 7);
    CHECK(anomaly.report.module == "transformer.h.1.attn.c_proj");
    CHECK(anomaly.report.sources.at(1).name == "transformer.h.1.attn.c_proj.weight");
    CHECK(*anomaly.report.sources.at(1).first == Dims{1, 1});  // element 17 of (16, 16)
  }
}

}  // namespace
}  // namespace minigpt::test
