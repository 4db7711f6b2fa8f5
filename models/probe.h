#pragma once
// Probe: any value inside a GPT, and its gradient, by name.
//
//   Probe probe(model, {"transformer.h.*.attn.weights", "transformer.h.0.mlp*"});
//   model.loss(x, y, probe.watching(mode)).backward();
//   for (const Captured& c : probe.finish()) fmt::print("{} {}\n", c.name, c.value.shape());
//
// A probe only looks: the step computes the same bits with it. What the fused kernels do not form is computed again from the
// input of the block, after the step and beside it, with the same dropout masks.

#include <map>
#include <optional>

#include "models/gpt.h"
#include "models/open_block.h"
#include "nn/hooks.h"

namespace minigpt {

struct Captured {
  std::string name;
  Tensor value;
  Tensor gradient;  // undefined if no backward pass reached it
};

class Probe {
 public:
  // Everything that can be probed, in the order of the forward pass: transformer.drop (the embeddings), for each block
  // transformer.h.I.NAME with the names of open_block() and transformer.h.I itself, transformer.ln_f, lm_head.
  static std::vector<std::string> names(const Gpt& model);

  // patterns: as glob_match() takes them. Throws Error for one that fits no name.
  Probe(const Gpt& model, std::vector<std::string> patterns);

  // The mode, with the probe looking. The mode's dropout stream must outlive the forward pass, the probe also the backward
  // pass. A further forward pass begins anew.
  // Throws Error if values inside of blocks are wanted while dropout masks come from PyTorch's stream: they cannot be drawn a
  // second time.
  Mode watching(const Mode& mode);

  // What was captured in the last pass, in the order of names(). Of the loss that backward() ran on, also scaled; with
  // Mode::recompute there are no gradients inside of the blocks, nor of their outputs. Leaves every parameter's gradient alone.
  std::vector<Captured> finish() const;

 private:
  // What a block was given, and what came back to it.
  struct BlockRun {
    Tensor input, output_gradient;
    std::optional<DropoutStream> masks;
  };
  bool wanted(std::string_view name) const;
  void on_output(const char* path, const Variable& output);
  void open(std::size_t index, std::map<std::string, Captured>& into) const;

  const Gpt& model_;
  std::vector<std::string> patterns_;
  std::vector<bool> inside_;  // of each block: is something inside wanted?
  Hooks hooks_;
  Mode mode_;
  Precision precision_ = Precision::full;
  std::vector<BlockRun> blocks_;
  std::map<std::string, Captured> seen_;
};

}  // namespace minigpt
