#pragma once
// rotary: positions as rotations of queries and keys.

#include "autograd/record.h"
#include "tensor/rotary.h"

namespace minigpt {

// y = R x: in every head of the queries and keys, pair i at position t is turned by the angle t * base^(-2 i / D); values
// pass unchanged.        dx = R^T dy: the same turned back, since a rotation's inverse is its transpose
// qkv, y: (B, T, 3C)   table: tensor/rotary.h   first: position of qkv[:, 0]
// The score of a query at t and a key at u then depends on t - u alone: (R_t q) . (R_u k) = q . (R_(u-t) k).
// Su et al. 2021, "RoFormer", section 3.2. Throws Error where shapes do not fit.
inline Variable rotary(const Variable& qkv, std::int64_t heads, const Tensor& table, std::int64_t first = 0,
                       bool inverse = false) {
  return record("rotary", rotary(qkv.value(), heads, table, first, inverse), {qkv}, save(table),
                [heads, first, inverse](const Saved& s, const Variable& dy) {
                  return Grads{rotary(dy, heads, s.other(), first, !inverse)};
                });
}

}  // namespace minigpt
