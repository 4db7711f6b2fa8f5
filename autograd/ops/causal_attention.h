#pragma once
// causal_attention: multi-head self-attention in which nothing can see the future, fused.

#include <cmath>
#include <limits>

#include "autograd/composition.h"
#include "autograd/ops/dropout.h"
#include "autograd/ops/masked_fill.h"
#include "autograd/ops/matmul.h"
#include "autograd/ops/mul.h"
#include "autograd/ops/reshape.h"
#include "autograd/ops/softmax.h"
#include "autograd/ops/split.h"
#include "autograd/ops/transpose.h"
#include "tensor/attention.h"
#include "tensor/dropout_mask.h"
#include "tensor/triangle.h"

namespace minigpt {

// The formula below in elementary ops: the specification of the fused op, and what a second derivative goes
// through.
inline Variable causal_attention_composed(const Variable& qkv, int heads, const DropoutMask& mask = {}) {
  const std::int64_t B = qkv.dim(0), T = qkv.dim(1), C = qkv.dim(2) / 3, D = C / heads;
  // (B, T, C) -> (B, H, T, D): every head works on its own D columns.
  const auto to_heads = [&](const Variable& x) { return transpose(reshape(x, {B, T, heads, D}), 1, 2); };
  const std::vector<Variable> parts = split(qkv, C, 2);
  const Variable q = to_heads(parts[0]), k = to_heads(parts[1]), v = to_heads(parts[2]);
  const Variable scores = matmul(q, transpose(k)) * (1 / std::sqrt(static_cast<double>(D)));
  const Tensor future = logical_not(tril_mask(T, T));
  const Variable weights = softmax(masked_fill(scores, future, -std::numeric_limits<double>::infinity()));
  return reshape(transpose(matmul(dropout(weights, mask), v), 1, 2), {B, T, C});
}

namespace detail {

// The mask as the kernels take it; null if nothing is dropped. `storage` holds it meanwhile.
inline const DropoutBits* dropout_bits(const Tensor& bits, double p, DropoutBits& storage) {
  if (p == 0) return nullptr;
  storage = {reinterpret_cast<const std::uint32_t*>(bits.data<std::int32_t>()), p};
  return &storage;
}

}  // namespace detail

// For every head, with q, k, v (T, D) cut out of qkv, D = C / H:
//   s_ij = q_i . k_j / sqrt(D) for j <= i,   p = softmax_j(s),   y_i = sum_j p_ij f_ij v_j
// f = keep / (1 - p) is the dropout on the probabilities, 1 without a mask.
//   dv_j = sum_i p_ij f_ij dy_i,   ds_ij = p_ij (f_ij dy_i . v_j - dy_i . y_i),
//   dq_i = sum_j ds_ij k_j / sqrt(D),   dk_j = sum_i ds_ij q_i / sqrt(D)
// qkv: (B, T, 3C), in each row all queries, all keys, all values   mask: for (B, H, T, T)   ->   y: (B, T, C)
// The scores are never stored: the backward pass computes them again (tensor/attention.h).
// Vaswani et al. 2017, "Attention Is All You Need", section 3.2; Dao et al. 2022, "FlashAttention", appendix B.
// Throws Error on another rank or type, if C is not a multiple of H, or if the mask does not fit.
inline Variable causal_attention(const Variable& qkv, int heads, const DropoutMask& mask = {}) {
  constexpr const char* kOp = "causal_attention";
  check(qkv.rank() == 3 && heads >= 1, kOp, "needs qkv (B, T, 3C) and at least one head, got {} and {}",
        qkv.shape(), heads);
  const std::int64_t scores = qkv.dim(0) * heads * qkv.dim(1) * qkv.dim(1);
  check_dropout_mask(kOp, mask.bits, mask.p, scores);
  Tensor bits;
  if (mask.p > 0)
    bits = mask.bits.defined() ? mask.bits.contiguous() : zeros({mask_words(scores)}, DType::i32);
  const double scale = 1 / std::sqrt(static_cast<double>(qkv.dim(2)) / 3 / heads);
  if (composing()) [[unlikely]]
    return causal_attention_composed(qkv, heads, DropoutMask{bits, mask.p});
  DropoutBits storage;
  AttentionOutput f =
      causal_attention(qkv.value(), heads, scale, detail::dropout_bits(bits, mask.p, storage));
  return record(kOp, std::move(f.out), {qkv}, save(input(0), output(), f.log_sum_exp, bits),
                [heads, scale, p = mask.p](const Saved& s, const Variable& dy) {
                  const Variable in = s.input(0);
                  const Tensor keep = s.other(1);
                  if (recording())
                    return differentiate(
                        [&](const std::vector<Variable>& v) {
                          return causal_attention_composed(v[0], heads, DropoutMask{keep, p});
                        },
                        {in}, dy);
                  DropoutBits words;
                  return Grads{Variable(causal_attention_backward(in.value(), s.output().value(), s.other(0),
                                                                  dy.value(), heads, scale,
                                                                  detail::dropout_bits(keep, p, words)))};
                });
}

}  // namespace minigpt
