#pragma once
// A transformer that turns one sequence into another: translate, sort, spell out.
//
//   source (B, S) -> embedding + positions -> encoder -> memory (B, S, C)
//   target (B, T) -> embedding + positions -> decoder, which reads the memory -> logits (B, T, V)
//
// logits[b][t] scores what may follow after target[b][0..t]. Vaswani et al. 2017, "Attention Is All You Need", figure 1;
// layers are pre-norm (Xiong et al. 2020), which needs no warm-up to train.

#include <span>
#include <vector>

#include "nn/decoder_layer.h"
#include "nn/positions.h"

namespace minigpt {

// Three ids of both vocabularies that are no symbols.
inline constexpr std::int32_t kPadId = 0;    // fills up short sequences; hidden from every attention
inline constexpr std::int32_t kStartId = 1;  // what the decoder is given before the first symbol
inline constexpr std::int32_t kEndId = 2;    // what the decoder says after the last one
inline constexpr std::int32_t kFirstSymbol = 3;

// Several sequences in one tensor, filled up with kPadId to the longest.
struct PaddedBatch {
  Tensor ids;                         // int32 (B, T)
  std::vector<std::int64_t> lengths;  // (B): places in use

  std::int64_t size() const { return static_cast<std::int64_t>(lengths.size()); }
  // What HiddenMasks::key_padding_mask wants: bool (B, T), TRUE = HIDDEN.
  Tensor hidden() const;
};

// Each sequence with `before` and `after` around it, where these are not kPadId. Throws Error if there are no sequences.
PaddedBatch pad_sequences(std::span<const std::vector<std::int32_t>> sequences, std::int32_t before = kPadId,
                          std::int32_t after = kPadId);

struct EncoderDecoderConfig {
  std::int64_t source_vocab = 0, target_vocab = 0;  // V, the three special ids included
  std::int64_t longest = 32;                        // of both sequences, start and end included
  std::int64_t d_model = 64, n_head = 4;            // C, H
  std::int64_t n_layer = 2;                         // of the encoder, and of the decoder
  std::int64_t d_hidden = 256;                      // width of the feed-forward half
  double dropout = 0;

  // Throws Error unless the parts fit together.
  void validate() const;
};

struct EncoderDecoder : Module {
  EncoderDecoderConfig config;
  Embedding source_embedding, target_embedding;
  SinusoidalPositions positions;
  TransformerEncoder encoder;
  TransformerDecoder decoder;
  Linear read_out;

  EncoderDecoder(const EncoderDecoderConfig& config, Generator& rng);

  template <class V>
  void visit(V&& v) {
    v("source_embedding", source_embedding);
    v("target_embedding", target_embedding);
    v("encoder", encoder);
    v("decoder", decoder);
    v("read_out", read_out);
  }

  // memory (B, S, C): what the decoder reads of the source. Each position of it has seen the whole source, and no padding.
  Variable encode(const PaddedBatch& source, const Mode& mode = {}) const;
  // Logits (B, T, V) of what follows each position of target, which begins with kStartId; position t sees the source and
  // target[0..t].
  Variable decode(const PaddedBatch& target, const Variable& memory, const PaddedBatch& source,
                  const Mode& mode = {}) const;

  // Mean cross-entropy, in nats per symbol, of writing each target for its source; the end mark is a symbol to be
  // written too, padding is not. Teacher forcing: the decoder is given the right beginning at every position, whatever it
  // would have written itself, so that all positions learn at once.
  // Throws Error unless there are as many targets as sources, and all of them fit into config.longest.
  Variable loss(std::span<const std::vector<std::int32_t>> sources,
                std::span<const std::vector<std::int32_t>> targets, const Mode& mode = {}) const;

  // Writes a target for each source, always the likeliest next (padding and start mark are out of the question), until
  // kEndId or `most` symbols, not counting the end; most < config.longest. All are written together, each as it would be
  // written alone.
  std::vector<std::vector<std::int32_t>> greedy(std::span<const std::vector<std::int32_t>> sources,
                                                std::int64_t most) const;

  std::vector<NamedParameter> parameters() { return named_parameters(*this); }
};

}  // namespace minigpt
