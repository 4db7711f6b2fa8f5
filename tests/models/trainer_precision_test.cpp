// Training with less memory (--recompute) and in bfloat16 (--dtype bf16).
#include <doctest/doctest.h>

#include <cmath>

#include "models/trainer.h"
#include "tensor/parallel.h"
#include "tensor/storage.h"
#include "tests/models/tiny_models.h"

namespace minigpt {
namespace {

using test::Recorder;
using test::tiny_run;
using test::TinyData;
using test::weights_of;

struct Run {
  std::vector<float> weights;
  double last_loss = 0;
  std::int64_t peak_bytes = 0;
};

Run run(const TrainConfig& config) {
  const TinyData tiny(config);
  Trainer trainer(config, tiny.tokenizer, tiny.data);
  reset_peak_memory();
  const std::int64_t before = memory_stats().live_bytes;
  Recorder seen;
  CHECK(trainer.run(nullptr, seen) == StopReason::finished);
  return {weights_of(trainer.model()), seen.steps.back().loss, memory_stats().peak_bytes - before};
}

TEST_CASE("recompute: the same weights, bit for bit, with dropout and for any number of threads") {
  TrainConfig config = tiny_run();
  config.model.dropout = 0.3;
  config.model.n_layer = 3;
  const std::vector<float> plain = run(config).weights;
  config.recompute = true;
  for (const int threads : {1, 2}) {
    const ScopedNumThreads scope(threads);
    CHECK(run(config).weights == plain);
  }
}

TEST_CASE("recompute: the blocks of a deep model take less memory") {
  TrainConfig config = tiny_run();
  config.model.n_layer = 8;
  config.model.block_size = 32;
  config.batch_size = 16;
  config.steps = 2;
  config.eval_every = 100;
  const std::int64_t plain = run(config).peak_bytes;
  config.recompute = true;
  CHECK(run(config).peak_bytes < plain / 2);
}

TEST_CASE("recompute: PyTorch's dropout masks cannot be drawn twice") {
  TrainConfig config = tiny_run();
  config.recompute = config.torch_dropout = true;
  config.model.dropout = 0.1;
  CHECK_THROWS_WITH_AS(config.validate(),
                       "[config] recompute cannot draw PyTorch's dropout masks a second time: leave out "
                       "recompute or torch_dropout",
                       Error);
  config.model.dropout = 0;
  config.validate();
}

TEST_CASE("bf16: other bits than f32, nearly the same loss, the same bits for any number of threads") {
  TrainConfig config = tiny_run();
  config.model.dropout = 0;
  const Run full = run(config);
  config.dtype = "bf16";
  const Run rounded = run(config);
  CHECK(rounded.weights != full.weights);
  CHECK(std::abs(rounded.last_loss - full.last_loss) < 0.02);
  const ScopedNumThreads scope(2);
  CHECK(run(config).weights == rounded.weights);
}

TEST_CASE("bf16: evaluations multiply as the training does") {
  TrainConfig config = tiny_run();
  config.dtype = "bf16";
  config.eval_mode = "windows";
  config.steps = 1;
  const TinyData tiny(config);
  Trainer trainer(config, tiny.tokenizer, tiny.data);
  const auto loss = [&](Precision precision, Split split) {
    const NoGrad no_grad;
    const ScopedMatmulPrecision scope(precision);
    double total = 0;
    for (std::int64_t i = 0; i < config.eval_batches; ++i) {
      const TokenBatch batch = tiny.data.eval_batch(split, i, config.eval_batches, nullptr);
      total += trainer.model().loss(batch.inputs, batch.targets).item();
    }
    return total / static_cast<double>(config.eval_batches);
  };
  const double training = loss(Precision::bf16, Split::kTrain),
               validation = loss(Precision::bf16, Split::kValidation);
  REQUIRE(training != loss(Precision::full, Split::kTrain));
  Recorder seen;
  trainer.run(nullptr, seen);
  CHECK(seen.evaluations[0].train_loss == training);
  CHECK(seen.evaluations[0].val_loss == validation);
}

TEST_CASE("bf16: outside of the run, products are exact again") {
  TrainConfig config = tiny_run();
  config.dtype = "bf16";
  run(config);
  CHECK(matmul_precision() == Precision::full);
}

}  // namespace
}  // namespace minigpt
