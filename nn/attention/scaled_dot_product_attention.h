#pragma once
// Scaled dot-product attention: every query looks at the keys and takes a weighted mean of their values.

#include <cmath>
#include <limits>
#include <optional>

#include "autograd/ops/dropout.h"
#include "autograd/ops/masked_fill.h"
#include "autograd/ops/matmul.h"
#include "autograd/ops/mul.h"
#include "autograd/ops/softmax.h"
#include "autograd/ops/transpose.h"
#include "tensor/triangle.h"

namespace minigpt {

struct AttentionOptions {
  Tensor mask;                  // bool, broadcasts to (..., T, S): TRUE = MAY ATTEND; undefined: everywhere
  bool causal = false;          // query t may attend to keys 0..t; combined with the mask by "and"
  std::optional<double> scale;  // default 1/sqrt(D), D being the width of one head
  DropoutMask dropout;          // for (..., T, S), applied to the weights; p = 0: none
  bool need_weights = true;     // hand the weights out
};

struct Attention {
  Variable out;      // (..., T, E)
  Variable weights;  // (..., T, S), as the softmax made them, before dropout: rows add up to 1
};

// The mask and causality as one: bool, true = hidden. Undefined if nothing is.
inline Tensor hidden_positions(const AttentionOptions& options, std::int64_t T, std::int64_t S) {
  if (options.mask.defined())
    check(options.mask.dtype() == DType::boolean, "scaled_dot_product_attention",
          "the mask must be bool (true = may attend), got {}", name_of(options.mask.dtype()));
  if (!options.causal) return options.mask.defined() ? logical_not(options.mask) : Tensor();
  const Tensor past = tril_mask(T, S);
  return logical_not(options.mask.defined() ? logical_and(options.mask, past) : past);
}

// weights = softmax(q k^T * scale, hidden scores -inf),   out = dropout(weights) v
// q: (..., T, D)   k: (..., S, D)   v: (..., S, E)   ->   out: (..., T, E); usually (B, H, T, D), leading axes
// broadcast. Written in elementary ops, so their backward passes are its own.
//
// Scores are hidden by -inf before the softmax, so hidden weights are exactly 0 and what they would have
// looked at has no influence and gets a gradient of exactly 0. A row that may attend to nothing has zero weights, a
// zero result and zero gradient, where PyTorch 1.13 has NaN.
// Vaswani et al. 2017, "Attention Is All You Need", section 3.2.1. Throws Error where shapes or types do not
// fit.
inline Attention scaled_dot_product_attention(const Variable& q, const Variable& k, const Variable& v,
                                              const AttentionOptions& options = {}) {
  constexpr const char* kOp = "scaled_dot_product_attention";
  check(q.rank() >= 2 && k.rank() >= 2 && v.rank() >= 2, kOp,
        "q, k and v need the axes (..., T, D), got {}, {} and {}", q.shape(), k.shape(), v.shape());
  check(q.dim(-1) == k.dim(-1), kOp, "widths of q and k differ: {} and {}", q.shape(), k.shape());
  check(k.dim(-2) == v.dim(-2), kOp, "k and v differ in length: {} and {}", k.shape(), v.shape());
  // The scale keeps the variance of a score at that of one product, however wide the head is.
  const double scale = options.scale.value_or(1 / std::sqrt(static_cast<double>(q.dim(-1))));
  Variable scores = matmul(q, transpose(k)) * scale;
  const Tensor hidden = hidden_positions(options, q.dim(-2), k.dim(-2));
  if (hidden.defined()) {
    check(broadcast_shapes(kOp, hidden.shape(), scores.shape()) == scores.shape(), kOp,
          "the mask does not broadcast to the scores: {} and {}", hidden.shape(), scores.shape());
    scores = masked_fill(scores, hidden, -std::numeric_limits<double>::infinity());
  }
  const Variable weights = softmax(scores);
  Variable out = matmul(dropout(weights, options.dropout), v);
  return {std::move(out), options.need_weights ? weights : Variable()};
}

}  // namespace minigpt
