#pragma once
// Who looks at whom in a trained GPT. The fused attention never forms its weights; they are computed again beside it, from
// what each block was given, so looking changes nothing.

#include <functional>

#include "models/gpt.h"

namespace minigpt {

// weights of layer l = softmax(q k^T / sqrt(D), causal), with q, k cut out of attn.prepared(c_attn(ln_1(x_l))) and x_l the
// input of block l in an ordinary forward pass. Calls visit(l, weights) for each layer in turn, so that only one layer's
// weights are alive.   tokens: int32 (B, T), T <= block_size   weights: (B, H, T, T), rows add up to 1
// Throws Error as Gpt::forward does.
void visit_attention_weights(const Gpt& model, const Tensor& tokens,
                             const std::function<void(std::int64_t layer, const Tensor& weights)>& visit);

// Of one block, from its input.   input: (B, T, C)   ->   (B, H, T, T)
Tensor attention_weights_of(const Block& block, const Tensor& input);

// An ordinary forward pass, and then visit(l, input, output) for each block in turn: (B, T, C) both.
void visit_block_inputs(
    const Gpt& model, const Tensor& tokens,
    const std::function<void(std::int64_t layer, const Tensor& input, const Tensor& output)>& visit);

// The same, all layers at once: L tensors of (B, H, T, T).
std::vector<Tensor> attention_weights(const Gpt& model, const Tensor& tokens);

}  // namespace minigpt
