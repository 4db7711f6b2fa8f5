// P-04: a result never depends on which thread was faster.

#include <doctest/doctest.h>

#include "tensor/parallel.h"
#include "tests/models/tiny_models.h"

namespace minigpt {
namespace {

std::vector<float> trained(const TrainConfig& config, const test::TinyData& tiny) {
  Trainer trainer(config, tiny.tokenizer, tiny.data);
  test::Recorder ignored;
  trainer.run(nullptr, ignored);
  return test::weights_of(trainer.model());
}

TEST_CASE("P-04: twenty runs with one thread and twenty with eight end in the same bits") {
  TrainConfig config = test::tiny_run();
  config.steps = 4;
  const test::TinyData tiny(config);
  std::vector<float> first;
  for (const int threads : {1, 8}) {
    const ScopedNumThreads scope(threads);
    const ScopedForceGrainOne small_pieces;  // or nothing this small would be split
    for (int run = 0; run < 20; ++run) {
      CAPTURE(threads);
      CAPTURE(run);
      const std::vector<float> weights = trained(config, tiny);
      if (first.empty()) first = weights;
      CHECK(weights == first);
    }
  }
}

}  // namespace
}  // namespace minigpt
