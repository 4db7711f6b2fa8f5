#pragma once
// A transformer block one step at a time, so that everything inside has a name. The blocks that train are fused: many of
// these values are never formed there (nn/block.h, autograd/ops/causal_attention.h, autograd/ops/mlp.h).

#include <string>
#include <vector>

#include "nn/block.h"

namespace minigpt {

struct NamedValue {
  std::string name;
  Variable value;
};

// The names of open_block's values, without the block's path, in order:
//   ln_1 (B, T, C)   attn.c_attn (B, T, 3C)   attn.q, attn.k, attn.v (B, H, T, D), as they are multiplied
//   attn.scores (B, H, T, T): q k^T / sqrt(D), not masked   attn.weights: softmax of the masked scores, before dropout
//   attn.dropped_weights: after dropout   attn.heads (B, T, C): the heads' results side by side   attn.c_proj (B, T, C)
//   attn: after dropout   mid: x + attn   ln_2   mlp.c_fc (B, T, 4C)   mlp.act: after the activation   mlp.c_proj
//   mlp: after dropout    "" (the block): mid + mlp
const std::vector<std::string>& open_block_names();

// block.forward(x, mode) in elementary ops. Draws dropout masks from mode.dropout in the same order, so from a copy of the
// same stream come the same masks. Equal to the fused block up to rounding.   x: (B, T, C)
// The names are whole: "transformer.h.0.attn.weights". Throws Error as Block::forward does.
std::vector<NamedValue> open_block(const Block& block, const Variable& x, const Mode& mode);

}  // namespace minigpt
