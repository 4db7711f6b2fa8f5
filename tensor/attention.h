#pragma once
// Fused causal self-attention: every position looks at itself and at what came before it.
//
// The plain way forms all scores, (B, H, T, T), then their softmax, then its product with the values. Here
// each thread works on one head of one sequence, in blocks of query rows, and only ever holds the scores of
// one block; keys that lie in the future of a whole block are not even multiplied. The backward pass computes
// the probabilities again from the saved log-sum-exp, which is cheaper than reading them back. (Dao, Fu,
// Ermon, Rudra, Re 2022, "FlashAttention", section 3.1 and appendix B. Unlike there, a block sees all of its
// keys at once: for the lengths of a small GPT they fit in the cache, and plain softmax will do.)

#include "tensor/dropout_bits.h"
#include "tensor/tensor.h"

namespace minigpt {

struct AttentionOutput {
  Tensor out;          // (B, T, C)
  Tensor log_sum_exp;  // (B, H, T, 2): largest score of the row, and log(sum exp(score - largest)); their sum
                       // is the log-sum-exp, kept in two parts so that large scores lose no digits
};

// Attention of H = heads heads of D = C / H columns each. For every head, with q, k, v (T, D):
//   s_ij = scale * sum_d q_id k_jd   for j <= i,      p = softmax over j,      out_id = sum_j p_ij f_ij v_jd
// qkv: (B, T, 3C), float32 or float64: in each row all queries, all keys, all values, and in each of these
// head by head. scale is usually 1 / sqrt(D).
//
// f is the dropout factor on the probabilities: 1 if `dropout` is null; else 1 / (1 - p) where the keep bit
// is set and 0 where not. Entry (i, j) of head h in sequence b has bit number ((b * H + h) * T + i) * T + j,
// its place in (B, H, T, T); bits with j > i exist but are not looked at.
//
// What comes after position t cannot change rows up to t by a single bit. Throws Error on another rank or
// type, a last extent that is not 3C, C that H does not divide, or p outside [0, 1].
AttentionOutput causal_attention(const Tensor& qkv, int heads, double scale,
                                 const DropoutBits* dropout = nullptr);

// Gradient of causal_attention: dqkv (B, T, 3C) from dout (B, T, C), what the forward pass got, and what it
// returned. For every head, with delta_i = sum_d dout_id out_id:
//   p = exp(s - log_sum_exp)           dv_j = sum_i p_ij f_ij dout_i       dp_ij = sum_d dout_id v_jd
//   ds_ij = p_ij (f_ij dp_ij - delta_i)      dq_i = scale sum_j ds_ij k_j        dk_j = scale sum_i ds_ij q_i
Tensor causal_attention_backward(const Tensor& qkv, const Tensor& out, const Tensor& log_sum_exp,
                                 const Tensor& dout, int heads, double scale,
                                 const DropoutBits* dropout = nullptr);

}  // namespace minigpt
