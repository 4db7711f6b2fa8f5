#pragma once
// DropoutStream: where the dropout masks of a forward pass come from.
//
//   DropoutStream masks = DropoutStream::counter(seed);
//   masks.begin(step, micro_step);             // before each forward pass
//   y = dropout(x, masks.next(x.shape(), 0.1));
//
// counter: a mask depends on (seed, step, micro-step, number of the call, element) and on nothing else, so a
// pass that is computed again, or resumed from a checkpoint, sees the same masks. torch: the masks PyTorch
// draws on the CPU, from its generator, in the order of the calls.

#include "autograd/ops/dropout.h"
#include "tensor/dropout_mask.h"

namespace minigpt {

class DropoutStream {
 public:
  // Counter-based (Philox, tensor/philox.h).
  static DropoutStream counter(std::uint64_t seed);
  // PyTorch's stream. `rng` must outlive the stream; whoever saves `rng` has saved the stream.
  static DropoutStream torch(Generator& rng);

  // Starts a forward pass: the optimiser step, and which of its gradient-accumulation passes this is. The next
  // mask is number 0. Without effect on PyTorch's stream, which just goes on.
  void begin(std::uint64_t step, std::uint32_t micro_step = 0);

  // Does a copy draw the same masks again, without touching this one? (PyTorch's stream is one for all copies.)
  bool repeatable() const { return rng_ == nullptr; }

  // The next mask, for a tensor of this shape: each element is kept with probability 1 - p. Nothing is drawn
  // and no bits are made for p = 0; p = 1 draws nothing either. A call counts as one whatever p is. Throws
  // Error unless p is in [0, 1] (NaN is not).
  DropoutMask next(const Shape& shape, double p);

 private:
  DropoutStream() = default;
  PhiloxKey key_;             // key_.call is the number of the next call
  Generator* rng_ = nullptr;  // null: counter-based
};

}  // namespace minigpt
