#include "models/gpt_decode.h"

#include <numeric>

#include "tensor/arithmetic.h"
#include "tensor/gather.h"
#include "tensor/gemv.h"
#include "tensor/views.h"

namespace minigpt {
namespace {

Tensor value_or_none(const Variable& v) { return v.defined() ? v.value() : Tensor(); }

// x: (B, C)
Tensor normalised(const Norm& norm, const Tensor& x) { return norm.forward(Variable(x)).value(); }

}  // namespace

GptDecoder::GptDecoder(const Gpt& model, DType weights)
    : model_(&model),
      last_block_(1, 1, model.config.n_head, model.config.block_size, model.config.n_embd,
                  model.lm_head.weight.dtype()) {
  const DType own = model.lm_head.weight.dtype();
  check(weights == own || (weights == DType::bf16 && own == DType::f32), "decoder",
        "a {} model cannot be read as {}", name_of(own), name_of(weights));
  const auto kept = [&](const Linear& layer) { return layer.weight.value().to(weights).contiguous(); };
  for (const Block& block : model.transformer.h)
    matrices_.push_back(
        {kept(block.attn.c_attn), kept(block.attn.c_proj), kept(block.mlp.c_fc), kept(block.mlp.c_proj)});
  lm_head_ = kept(model.lm_head);
}

Tensor GptDecoder::embed(std::span<const std::int32_t> tokens,
                         std::span<const std::int32_t> positions) const {
  const auto rows = [](const Embedding& table, std::span<const std::int32_t> ids) {
    return index_select(table.weight.value(), 0,
                        Tensor::from<std::int32_t>(ids, {static_cast<std::int64_t>(ids.size())}));
  };
  Tensor x = rows(model_->transformer.wte, tokens);
  if (model_->transformer.wpe.weight.defined()) x = add(x, rows(model_->transformer.wpe, positions));
  return x;
}

void GptDecoder::make_room(std::int64_t rows) {
  if (room_.qkv.defined() && room_.qkv.dim(0) == rows) return;
  const DType dtype = model_->lm_head.weight.dtype();
  const std::int64_t C = model_->config.n_embd;
  room_ = {Tensor::empty({rows, 3 * C}, dtype), Tensor::empty({rows, C}, dtype),
           Tensor::empty({rows, 4 * C}, dtype), Tensor::empty({rows, model_->config.vocab_size}, dtype)};
}

void GptDecoder::finish_block(std::size_t i, Tensor& x) {
  const Block& block = model_->transformer.h[i];
  const Matrices& m = matrices_[i];
  gemv(room_.attended, m.attn_proj, value_or_none(block.attn.c_proj.bias), x, true);
  gemv(normalised(block.ln_2, x), m.c_fc, value_or_none(block.mlp.c_fc.bias), room_.hidden);
  const Variable active = activate(Variable(room_.hidden), block.mlp.activation);
  gemv(active.value(), m.mlp_proj, value_or_none(block.mlp.c_proj.bias), x, true);
}

const Tensor& GptDecoder::read_out(const Tensor& x) {
  gemv(normalised(model_->transformer.ln_f, x), lm_head_, Tensor(), room_.logits);
  return room_.logits;
}

const Tensor& GptDecoder::step(std::span<const std::int32_t> tokens, std::span<KvCache* const> caches) {
  const auto B = static_cast<std::int64_t>(tokens.size());
  const std::int64_t C = model_->config.n_embd;
  check(B > 0 && caches.size() == tokens.size(), "decoder", "{} tokens for {} caches", tokens.size(),
        caches.size());
  const NoGrad no_grad;
  make_room(B);
  std::vector<std::int32_t> positions;
  for (const KvCache* cache : caches) positions.push_back(static_cast<std::int32_t>(cache->length()));

  Tensor x = embed(tokens, positions);  // (B, C)
  for (std::size_t i = 0; i < matrices_.size(); ++i) {
    const Block& block = model_->transformer.h[i];
    gemv(normalised(block.ln_1, x), matrices_[i].c_attn, value_or_none(block.attn.c_attn.bias), room_.qkv);
    // Each text has its own length, and its own keys to look at.
    for (std::int64_t b = 0; b < B; ++b) {
      KvCache::Layer& layer = caches[static_cast<std::size_t>(b)]->layers[i];
      const Tensor row = reshape(slice(room_.qkv, 0, b, b + 1), {1, 1, 3 * C});
      const Variable prepared = block.attn.prepared(Variable(row), layer.length);
      slice(room_.attended, 0, b, b + 1).copy_(reshape(layer.attend(prepared.value()), {1, C}));
    }
    finish_block(i, x);
  }
  return read_out(x);
}

Tensor GptDecoder::window(std::span<const std::int32_t> tokens, KvCache* cache) {
  const auto T = static_cast<std::int64_t>(tokens.size());
  const std::int64_t C = model_->config.n_embd;
  check(T >= 1 && T <= model_->config.block_size, "decoder", "{} positions, but the context holds 1 to {}", T,
        model_->config.block_size);
  const NoGrad no_grad;
  if (cache) cache->clear();
  make_room(1);
  std::vector<std::int32_t> positions(tokens.size());
  std::iota(positions.begin(), positions.end(), 0);

  Variable x(reshape(embed(tokens, positions), {1, T, C}));
  const std::size_t last = matrices_.size() - 1;
  for (std::size_t i = 0; i < last; ++i)
    x = model_->transformer.h[i].forward(x, Mode{}, cache ? &cache->layers[i] : nullptr);

  const Block& block = model_->transformer.h[last];
  KvCache::Layer& layer = cache ? cache->layers[last] : last_block_.layers[0];
  layer.length = 0;
  const Tensor qkv = block.attn.prepared(block.attn.c_attn.forward(block.ln_1.forward(x)), 0).value();
  layer.append(qkv);
  room_.attended.copy_(reshape(layer.attend_last(qkv, 1), {1, C}));
  Tensor end = slice(reshape(x.value(), {T, C}), 0, T - 1, T).clone();
  finish_block(last, end);
  return read_out(end).clone();
}

void round_matrices(Gpt& model) {
  for (NamedParameter& p : model.parameters())
    if (p.variable.rank() == 2) {
      Tensor value = p.variable.value();
      value.copy_(value.to(DType::bf16));
    }
}

}  // namespace minigpt
