#pragma once
// Scaled dot-product attention: every query looks at the keys and takes a weighted mean of their values.

#include <cmath>
#include <limits>
#include <optional>

#include "autograd/ops/add.h"
#include "autograd/ops/dropout.h"
#include "autograd/ops/masked_fill.h"
#include "autograd/ops/matmul.h"
#include "autograd/ops/mul.h"
#include "autograd/ops/softmax.h"
#include "autograd/ops/transpose.h"
#include "nn/attention/masks.h"

namespace minigpt {

// Every member has an initial value, so that one may name only some: {.mask = m, .causal = true}.
struct AttentionOptions {
  // Broadcasts to (..., T, S). bool: TRUE = MAY ATTEND (the masks of MultiHeadAttention, as PyTorch's, have true =
  // hidden). float: added to the scores, -inf hides. Undefined: every query sees every key. See masks.h.
  Tensor mask = {};
  DropoutMask dropout = {};          // for (..., T, S), applied to the weights; p = 0: none
  bool causal = false;               // query t may attend to keys 0..t; on top of the mask
  bool need_weights = true;          // hand the weights out
  std::optional<double> scale = {};  // default 1/sqrt(D), D being the width of one head
};

struct Attention {
  Variable out;      // (..., T, E)
  Variable weights;  // (..., T, S), as the softmax made them, before dropout: rows add up to 1
};

namespace detail {

// scores with the mask applied: -inf where it is false or -inf, plus what it adds. What stood at a hidden place has no
// influence, even if it was NaN.
inline Variable masked_scores(const Variable& scores, const Tensor& mask) {
  constexpr double kHidden = -std::numeric_limits<double>::infinity();
  if (mask.dtype() == DType::boolean) return masked_fill(scores, logical_not(mask), kHidden);
  return masked_fill(scores + Variable(mask.to(scores.dtype())), eq(mask, kHidden), kHidden);
}

}  // namespace detail

// weights = softmax(q k^T * scale + mask, hidden scores -inf),   out = dropout(weights) v
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
  const Tensor mask =
      combine_masks(options.mask, options.causal ? tril_mask(q.dim(-2), k.dim(-2)) : Tensor());
  if (mask.defined()) {
    check(broadcast_shapes(kOp, mask.shape(), scores.shape()) == scores.shape(), kOp,
          "the mask does not broadcast to the scores: {} and {}", mask.shape(), scores.shape());
    scores = detail::masked_scores(scores, mask);
  }
  const Variable weights = softmax(scores);
  Variable out = matmul(dropout(weights, options.dropout), v);
  return {std::move(out), options.need_weights ? weights : Variable()};
}

}  // namespace minigpt
