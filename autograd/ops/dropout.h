#pragma once
// dropout: a mask applied to activations.

#include "autograd/record.h"
#include "tensor/dropout.h"

namespace minigpt {

// Which elements stay, as packed bits, and the probability with which each was dropped. Masks are made
// beforehand (nn/dropout_stream.h), so that a forward pass, its backward, and a fused kernel see the same one.
struct DropoutMask {
  Tensor bits;   // int32 words: bit i % 32 of word i / 32 is set if element i (row-major) is kept
  double p = 0;  // 0: nothing is dropped, 1: everything is; bits may be undefined then
};

// y = x * keep / (1 - p).        dx = dy * keep / (1 - p)
// p = 0 is the identity, p = 1 gives zeros and no gradient. (Srivastava et al. 2014, "Dropout", section 4, in
// the form that scales while training.) Throws Error unless p is in [0, 1] and the mask fits x.
inline Variable dropout(const Variable& x, const DropoutMask& mask) {
  if (mask.p == 0) return x;
  return record("dropout", apply_dropout(x.value(), mask.bits, mask.p), {x}, save(mask.bits),
                [p = mask.p](const Saved& s, const Variable& dy) {
                  return Grads{dropout(dy, DropoutMask{s.other(), p})};
                });
}

}  // namespace minigpt
