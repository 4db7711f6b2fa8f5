#pragma once
// watch.jsonl: what gradients, weights and layers look like while a model trains, one JSON object for every watched step.
//
//   {"step": 20, "grad_norm": 1.7, "clip": 0.59,
//    "parameters": [{"name": "lm_head.weight", "grad": {"norm", "mean", "std", "min", "max", "zeros", "hist": [32 counts]},
//                    "weight": {"norm", "mean", "std", "min", "max", "zeros"}, "update_ratio": 0.0021}, ...],
//    "layers": [{"layer": 0, "residual": 1.1, "branch": 0.3, "inactive": 0.4, "dead": 0, "entropy": [per head]}, ...]}
//
// Gradients are those before clipping; clip is the factor that they were multiplied by. update_ratio = |w' - w| / |w|: near
// 0.001 is healthy for matrices, and null where |w| = 0. Weights are those before the update. models/layer_probe.h says what
// the numbers of a layer mean; they come from two sequences of the batch, without dropout.

#include <filesystem>

#include "models/trainer.h"
#include "nn/files.h"

namespace minigpt {

// Writes a line for every `every`-th step. Training goes on bit for bit as without it.
class Watch : public UpdateWatcher {
 public:
  // Appends to `path`. What an earlier, longer run wrote for step `from_step` and later is cut off first. Throws RunError if
  // the file cannot be written, Error if every < 1.
  Watch(const std::filesystem::path& path, std::int64_t every, std::int64_t from_step);

  bool due(std::int64_t step) const override { return step % every_ == 0; }
  void before_update(const UpdateView& view) override;
  void after_update(const UpdateView& view) override;
  void on_save_start(TrainState& state) override;

 private:
  AppendFile file_;
  std::int64_t every_;
  std::vector<Tensor> before_;  // the weights before the update
};

}  // namespace minigpt
