#include "models/gpt_config.h"

#include <fmt/format.h>

namespace minigpt {

std::string Field::range() const {
  std::string text;
  for (const std::string& choice : choices) text += (text.empty() ? "" : " | ") + choice;
  return text.empty() ? limits.text() : text;
}

namespace {

// The divisors of c around `wanted`, so that the message offers something that works.
std::string valid_heads(std::int64_t c, std::int64_t wanted) {
  std::int64_t below = 0, above = 0;
  for (std::int64_t h = 1; h <= c; ++h) {
    if (c % h != 0) continue;
    if (h <= wanted) below = h;
    if (h > wanted && above == 0) above = h;
  }
  if (above == 0) return std::to_string(below);
  return below == 0 ? std::to_string(above) : fmt::format("{} or {}", below, above);
}

}  // namespace

void GptConfig::validate() const {
  check(n_layer >= 1 && n_embd >= 1 && block_size >= 1 && vocab_size >= 1, "config",
        "n_layer, n_embd, block_size and vocab_size must be at least 1: {}, {}, {}, {}", n_layer, n_embd,
        block_size, vocab_size);
  check(n_head >= 1 && n_embd % n_head == 0, "config",
        "n_embd must be divisible by n_head: {} % {} != 0; n_head could be {}", n_embd, n_head,
        valid_heads(n_embd, n_head));
  check(dropout >= 0 && dropout < 1, "config", "dropout must be 0 or more, below 1, got {}", dropout);
  norm_kind();
  activation_kind();
  check(positions == "learned" || positions == "rotary", "config",
        "positions must be learned or rotary, got {}", positions);
  check(positions == "learned" || n_embd / n_head % 2 == 0, "config",
        "rotary positions need heads of an even size: {} / {} = {}", n_embd, n_head, n_embd / n_head);
  // Every extent is bounded before memory is asked for; 2^33 weights would be 32 GiB.
  const double weights =
      static_cast<double>(n_layer) * 12.0 * static_cast<double>(n_embd) * static_cast<double>(n_embd) +
      static_cast<double>(vocab_size + block_size) * static_cast<double>(n_embd);
  check(weights < 8.6e9, "config", "the model would have {:.3g} weights, more than the limit of 8.6e9",
        weights);
}

NormKind GptConfig::norm_kind() const {
  check(norm == "layer" || norm == "rms", "config", "norm must be layer or rms, got {}", norm);
  return norm == "layer" ? NormKind::layer : NormKind::rms;
}

Activation GptConfig::activation_kind() const {
  if (activation == "gelu") return Activation::gelu_erf;
  if (activation == "gelu_tanh") return Activation::gelu_tanh;
  if (activation == "relu") return Activation::relu;
  if (activation == "relu_squared") return Activation::relu_squared;
  if (activation == "silu") return Activation::silu;
  fail("config", "activation must be gelu, gelu_tanh, relu, relu_squared or silu, got {}", activation);
}

}  // namespace minigpt
