#pragma once
// qk_norm: queries and keys of one length, so that their products stay in bounds.

#include "autograd/composition.h"
#include "autograd/ops/concat.h"
#include "autograd/ops/reshape.h"
#include "autograd/ops/rms_norm.h"
#include "autograd/ops/split.h"

namespace minigpt {

// The formula below in elementary ops: the specification of the fused op, and what a second derivative goes
// through.
inline Variable qk_norm_composed(const Variable& qkv, std::int64_t heads, double eps) {
  const std::int64_t B = qkv.dim(0), T = qkv.dim(1), C = qkv.dim(2) / 3;
  const std::vector<Variable> parts = split(qkv, {2 * C, C}, 2);
  const Variable y = rms_norm_composed(reshape(parts[0], {B, T, 2 * heads, C / heads}), Variable(), eps);
  return concat({reshape(y, {B, T, 2 * C}), parts[1]}, 2);
}

// y = x / sqrt(mean(x^2) + eps) over the D = C / heads numbers of every head of the queries and of the keys; values pass.
//   dx: as rms_norm, in every head
// qkv, y: (B, T, 3C), in each row all queries, all keys, all values
// Then |q . k| / sqrt(D) <= sqrt(D): attention cannot saturate, however fast the weights grow. Henry et al. 2020,
// "Query-Key Normalization for Transformers", with RMS norm in place of the L2 norm and its learned scale. Throws Error
// unless heads divides C.
inline Variable qk_norm(const Variable& qkv, std::int64_t heads, double eps = 1e-5) {
  RmsNormOutput f = qk_norm(qkv.value(), heads, eps);
  return record("qk_norm", std::move(f.y), {qkv}, save(input(0), f.rrms),
                [heads, eps](const Saved& s, const Variable& dy) {
                  const Variable in = s.input(0);
                  if (recording())
                    return differentiate(
                        [&](const std::vector<Variable>& v) { return qk_norm_composed(v[0], heads, eps); },
                        {in}, dy);
                  return Grads{Variable(qk_norm_backward(in.value(), s.other(), dy.value()))};
                });
}

}  // namespace minigpt
