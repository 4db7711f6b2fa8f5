#include "models/encoder_decoder.h"

#include <algorithm>

#include "autograd/ops/cross_entropy.h"
#include "tensor/reduce.h"
#include "tensor/views.h"

namespace minigpt {

Tensor PaddedBatch::hidden() const {
  // (B, 1, 1, T), true = may attend, as masks.h has it  ->  (B, T), true = hidden.
  const std::int64_t T = ids.dim(1);
  return logical_not(reshape(padding_mask(lengths, T), {size(), T}));
}

PaddedBatch pad_sequences(std::span<const std::vector<std::int32_t>> sequences, std::int32_t before,
                          std::int32_t after) {
  check(!sequences.empty(), "pad_sequences", "there are no sequences");
  const std::size_t marks = (before == kPadId ? 0 : 1) + (after == kPadId ? 0 : 1);
  // At least one place, so that a batch of empty sequences is a tensor too.
  std::size_t longest = 1;
  for (const auto& sequence : sequences) longest = std::max(longest, sequence.size() + marks);
  const auto B = static_cast<std::int64_t>(sequences.size()), T = static_cast<std::int64_t>(longest);
  PaddedBatch batch{full({B, T}, kPadId, DType::i32), {}};
  std::int32_t* row = batch.ids.mutable_data<std::int32_t>();
  for (const auto& sequence : sequences) {
    std::int32_t* next = row;
    if (before != kPadId) *next++ = before;
    next = std::copy(sequence.begin(), sequence.end(), next);
    if (after != kPadId) *next++ = after;
    batch.lengths.push_back(next - row);
    row += T;
  }
  return batch;
}

void EncoderDecoderConfig::validate() const {
  check(source_vocab > kFirstSymbol && target_vocab > kFirstSymbol, "encoder_decoder",
        "vocabularies need a symbol beside the {} special ids, got {} and {}", kFirstSymbol, source_vocab,
        target_vocab);
  check(longest >= 2 && n_layer >= 1 && d_hidden >= 1, "encoder_decoder",
        "longest must be at least 2, n_layer and d_hidden at least 1, got {}, {} and {}", longest, n_layer,
        d_hidden);
  check(d_model >= 1 && n_head >= 1 && d_model % n_head == 0, "encoder_decoder",
        "{} channels cannot be split into {} heads", d_model, n_head);
}

EncoderDecoder::EncoderDecoder(const EncoderDecoderConfig& c, Generator& rng) : config(c) {
  c.validate();
  const TransformerLayerOptions layer = {.d_model = c.d_model,
                                         .nhead = c.n_head,
                                         .dim_feedforward = c.d_hidden,
                                         .dropout = c.dropout,
                                         .norm_first = true};
  source_embedding = Embedding(c.source_vocab, c.d_model, rng);
  target_embedding = Embedding(c.target_vocab, c.d_model, rng);
  positions = SinusoidalPositions(c.longest, c.d_model);
  encoder = TransformerEncoder(layer, c.n_layer, /*with_final_norm=*/true, rng);
  decoder = TransformerDecoder(layer, c.n_layer, /*with_final_norm=*/true, rng);
  read_out = Linear(c.d_model, c.target_vocab, /*with_bias=*/true, rng);
  stamp_paths(*this);
}

Variable EncoderDecoder::encode(const PaddedBatch& source, const Mode& mode) const {
  const Variable x = positions.forward(source_embedding.forward(source.ids));
  return encoder.forward(x, {.key_padding_mask = source.hidden()}, mode);
}

Variable EncoderDecoder::decode(const PaddedBatch& target, const Variable& memory, const PaddedBatch& source,
                                const Mode& mode) const {
  const Variable x = positions.forward(target_embedding.forward(target.ids));
  // Padding stands behind the symbols, where the causal mask hides it from them; hidden all the same, so that nothing
  // rests on where it stands.
  const HiddenMasks own = {.key_padding_mask = target.hidden(), .causal = true};
  return read_out.forward(decoder.forward(x, memory, own, {.key_padding_mask = source.hidden()}, mode));
}

Variable EncoderDecoder::loss(std::span<const std::vector<std::int32_t>> sources,
                              std::span<const std::vector<std::int32_t>> targets, const Mode& mode) const {
  check(sources.size() == targets.size(), "encoder_decoder", "{} sources, but {} targets", sources.size(),
        targets.size());
  // Given <start> a b c, to be written: a b c <end>.
  const PaddedBatch source = pad_sequences(sources), given = pad_sequences(targets, kStartId),
                    wanted = pad_sequences(targets, kPadId, kEndId);
  const Variable logits = decode(given, encode(source, mode), source, mode);
  return cross_entropy(flatten(logits, 0, 1), flatten(wanted.ids, 0, 1), Reduction::mean, kPadId);
}

std::vector<std::vector<std::int32_t>> EncoderDecoder::greedy(
    std::span<const std::vector<std::int32_t>> sources, std::int64_t most) const {
  check(most >= 0 && most < config.longest, "encoder_decoder",
        "{} symbols and a start mark do not fit into {} places", most, config.longest);
  const NoGrad no_grad;
  const PaddedBatch source = pad_sequences(sources);
  const Variable memory = encode(source);
  std::vector<std::vector<std::int32_t>> written(sources.size());
  std::vector<bool> done(sources.size(), false);
  for (std::int64_t t = 0; t < most && !std::all_of(done.begin(), done.end(), [](bool d) { return d; });
       ++t) {
    // Everything written so far is computed again for each symbol. Those that are done are padding from here on.
    const PaddedBatch given = pad_sequences(written, kStartId);
    const Variable logits = decode(given, memory, source);
    const Tensor last = select(logits.value(), 1, given.ids.dim(1) - 1);  // (B, V)
    const Tensor best =
        argmax(slice(last, 1, kEndId, config.target_vocab), {-1});  // padding and start are not written
    for (std::size_t b = 0; b < written.size(); ++b) {
      if (done[b]) continue;
      const auto id = kEndId + static_cast<std::int32_t>(best.at({static_cast<std::int64_t>(b)}));
      done[b] = id == kEndId;
      if (!done[b]) written[b].push_back(id);
    }
  }
  return written;
}

}  // namespace minigpt
