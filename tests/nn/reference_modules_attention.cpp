// Attention, blocks, encoder and decoder layers, as modules.json describes them.

#include "autograd/ops/transpose.h"
#include "nn/attention_block.h"
#include "nn/decoder_layer.h"
#include "tests/nn/reference_modules.h"

namespace minigpt::reference {
namespace {

// A tutorial's mask: numbers, 0 = hidden.
Tensor tutorial_mask(const ModuleCase& c) {
  const Tensor mask = c.mask("mask");
  return mask.defined() && mask.dtype() != DType::boolean ? mask_from_numbers(mask) : mask;
}

ModuleOutcome tutorial_attention(const ModuleCase& c) {
  Generator rng(1);
  CrossAttention layer(c.config.at("d_model"), c.config.at("num_heads"), rng);
  auto parameters = loaded(layer, c);
  const Attention a = layer.forward(c["x"], c["x"], tutorial_mask(c));
  return {{a.out, a.weights}, parameters};
}

ModuleOutcome tutorial_block(const ModuleCase& c) {
  Generator rng(1);
  AttentionBlock layer(c.config.at("d_model"), c.config.at("num_heads"), 0.1, rng);
  auto parameters = loaded(layer, c);
  return {{layer.forward(c["x"], tutorial_mask(c))}, parameters};
}

// Our layers have the batch first; PyTorch's may have the positions first, (T, B, C).
Variable batch_first(const ModuleCase& c, const Variable& x) {
  return x.defined() && x.rank() == 3 && !c.setting("batch_first", true) ? transpose(x, 0, 1) : x;
}

ModuleOutcome multihead_attention(const ModuleCase& c) {
  Generator rng(1);
  MultiHeadAttention layer(c.config.at("embed_dim"), c.config.at("num_heads"), 0.1, c.setting("bias", true),
                           rng);
  auto parameters = loaded(layer, c);
  const Variable query = batch_first(c, c["query"]);
  const Variable key = c["key"].defined() ? batch_first(c, c["key"]) : query;
  const Variable value = c["value"].defined() ? batch_first(c, c["value"]) : key;
  const WeightsOf wanted =
      c.setting("average_attn_weights", true) ? WeightsOf::mean_of_heads : WeightsOf::each_head;
  const Attention a = layer.forward(
      query, key, value, {.attn_mask = c.mask("attn_mask"), .key_padding_mask = c.mask("key_padding_mask")},
      {}, wanted);
  return {{batch_first(c, a.out), a.weights}, parameters};
}

TransformerLayerOptions layer_options(const ModuleCase& c) {
  TransformerLayerOptions o;
  o.d_model = c.config.at("d_model");
  o.nhead = c.config.at("nhead");
  o.dim_feedforward = c.setting("dim_feedforward", o.dim_feedforward);
  const auto activation = c.setting<std::string>("activation", "relu");
  check(activation == "relu" || activation == "gelu", "modules.json", "unknown activation {}", activation);
  o.activation = activation == "relu" ? Activation::relu : Activation::gelu_erf;
  o.norm_first = c.setting("norm_first", o.norm_first);
  o.layer_norm_eps = c.setting("layer_norm_eps", o.layer_norm_eps);
  return o;
}

// The masks called PREFIXmask and PREFIXkey_padding_mask.
HiddenMasks masks_of(const ModuleCase& c, const std::string& prefix) {
  return {.attn_mask = c.mask(prefix + "mask"), .key_padding_mask = c.mask(prefix + "key_padding_mask")};
}

ModuleOutcome encoder_layer(const ModuleCase& c) {
  Generator rng(1);
  TransformerEncoderLayer layer(layer_options(c), rng);
  auto parameters = loaded(layer, c);
  return {{batch_first(c, layer.forward(batch_first(c, c["src"]), masks_of(c, "src_")))}, parameters};
}

ModuleOutcome decoder_layer(const ModuleCase& c) {
  Generator rng(1);
  TransformerDecoderLayer layer(layer_options(c), rng);
  auto parameters = loaded(layer, c);
  const Variable out = layer.forward(batch_first(c, c["tgt"]), batch_first(c, c["memory"]),
                                     masks_of(c, "tgt_"), masks_of(c, "memory_"));
  return {{batch_first(c, out)}, parameters};
}

ModuleOutcome encoder(const ModuleCase& c) {
  Generator rng(1);
  TransformerEncoder layer(layer_options(c), c.config.at("num_layers"), c.setting("final_norm", false), rng);
  auto parameters = loaded(layer, c);
  const HiddenMasks masks = {.attn_mask = c.mask("mask"), .key_padding_mask = c.mask("src_key_padding_mask")};
  return {{batch_first(c, layer.forward(batch_first(c, c["src"]), masks))}, parameters};
}

ModuleOutcome decoder(const ModuleCase& c) {
  Generator rng(1);
  TransformerDecoder layer(layer_options(c), c.config.at("num_layers"), c.setting("final_norm", false), rng);
  auto parameters = loaded(layer, c);
  const Variable out = layer.forward(batch_first(c, c["tgt"]), batch_first(c, c["memory"]),
                                     masks_of(c, "tgt_"), masks_of(c, "memory_"));
  return {{batch_first(c, out)}, parameters};
}

}  // namespace

ModuleTable attention_modules() {
  return {
      {"TutorialAttention", tutorial_attention},
      {"TutorialBlock", tutorial_block},
      {"MultiheadAttention", multihead_attention},
      {"TransformerEncoderLayer", encoder_layer},
      {"TransformerDecoderLayer", decoder_layer},
      {"TransformerEncoder", encoder},
      {"TransformerDecoder", decoder},
  };
}

}  // namespace minigpt::reference
