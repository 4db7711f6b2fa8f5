#pragma once
// Rotary positions: pairs of numbers turned by an angle that grows with the position.

#include "tensor/tensor.h"

namespace minigpt {

// Cosine and sine of the angles, float32.   ->   (2, T, D / 2): [0] cosines, [1] sines
//   angle(t, i) = t * base^(-2 i / D)
// The first pair turns by a radian a position, the last takes about 2 pi * base positions for one turn.
// Throws Error unless D is even and positive.
Tensor rotary_table(std::int64_t positions, std::int64_t head_dim, double base = 10000);

// Turns queries and keys, and copies values. In each head, element i is paired with i + D / 2:
//   (y_i, y_i+D/2) = (c x_i - s x_i+D/2,  s x_i + c x_i+D/2),   c, s = cos, sin of angle(first + t, i)
// and by the opposite angle if `inverse`.
// qkv: (B, T, 3C), float32 or float64   table: from rotary_table, at least first + T positions of D = C / heads   ->
// (B, T, 3C). Throws Error where they do not fit. Su et al. 2021, "RoFormer", section 3.2.2; the pairing is GPT-NeoX's.
Tensor rotary(const Tensor& qkv, std::int64_t heads, const Tensor& table, std::int64_t first, bool inverse);

}  // namespace minigpt
