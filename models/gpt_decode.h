#pragma once
// The GPT as it writes: one new position for each of a few texts at a time.
//
// The same function as Gpt::forward, along another path. There, many positions share each weight, and what counts is
// arithmetic; here every weight is read for a handful of rows, and what counts is the speed of memory. Nothing is
// recorded, results go into buffers that stay, and weights may be kept in half the bytes.

#include <span>

#include "models/gpt.h"

namespace minigpt {

class GptDecoder {
 public:
  // The model must outlive the decoder and not change. `weights` is the type the matrices are kept in: the model's own,
  // which are shared, or bf16, which are copied. For bf16 call round_matrices first, so that the model itself and its
  // decoder are the same function. Throws Error for bf16 of a model that is not float32.
  GptDecoder(const Gpt& model, DType weights);
  explicit GptDecoder(const Gpt& model) : GptDecoder(model, model.lm_head.weight.dtype()) {}

  // A cache for one text.
  KvCache make_cache() const { return model_->make_cache(1); }

  // Appends tokens[b] to the text of caches[b], for each b < B.   ->   logits (B, V) of what may follow; they stay valid
  // until the next call. A row has the same bits alone and among others. Throws Error if a cache is full or a token
  // is not in the vocabulary.
  const Tensor& step(std::span<const std::int32_t> tokens, std::span<KvCache* const> caches);

  // Logits (1, V) after the last of T tokens that stand at positions 0 .. T - 1, where T <= block_size. Their keys and
  // values replace what `cache` held; without one they are not kept. Above the keys and values of the last block only the
  // last position is computed.
  Tensor window(std::span<const std::int32_t> tokens, KvCache* cache);

  const GptConfig& config() const { return model_->config; }

 private:
  // The matrices of a block, (N, K) each, as they are kept.
  struct Matrices {
    Tensor c_attn, attn_proj, c_fc, mlp_proj;
  };
  // Room for B rows.
  struct Buffers {
    Tensor qkv, attended, hidden, logits;  // (B, 3C), (B, C), (B, 4C), (B, V)
  };

  Tensor embed(std::span<const std::int32_t> tokens, std::span<const std::int32_t> positions) const;
  void make_room(std::int64_t rows);
  // From the attention of block i to the end of it: x (B, C) += c_proj(attended), then += the MLP.
  void finish_block(std::size_t i, Tensor& x);
  const Tensor& read_out(const Tensor& x);

  const Gpt* model_;
  std::vector<Matrices> matrices_;
  Tensor lm_head_;
  Buffers room_;
  KvCache last_block_;  // of a window whose keys and values are not kept
};

// Rounds the matrices of a float32 model to bfloat16, in place.
void round_matrices(Gpt& model);

}  // namespace minigpt
