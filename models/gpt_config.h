#pragma once
// The shape of a GPT: everything that decides its parameters and its forward pass.

#include <cstdint>
#include <string>

#include "models/config_field.h"
#include "nn/block.h"

namespace minigpt {

struct GptConfig {
  std::int64_t block_size = 64;  // T, the longest context
  std::int64_t vocab_size = 0;   // V; comes from the text
  std::int64_t n_layer = 4;      // L
  std::int64_t n_head = 4;       // H
  std::int64_t n_embd = 128;     // C
  double dropout = 0.0;
  bool bias = false;
  std::string norm = "layer";
  bool norm_gain = true;
  std::string activation = "gelu";
  bool tie_weights = true;
  double init_std = 0.02;
  std::string positions = "learned";
  bool qk_norm = false;
  bool zero_init = false;

  // Names, ranges and explanations, once for the command line, config.json and --help.
  template <class V>
  void visit(V&& v) {
    v(Field("block_size", "context length, in characters").between(1, 65536).also("block"), block_size);
    v(Field("n_layer", "number of transformer blocks").between(1, 1000).also("layers"), n_layer);
    v(Field("n_head", "attention heads per block; must divide n_embd").between(1, 1024).also("heads"),
      n_head);
    v(Field("n_embd", "channels: numbers per position").between(1, 65536).also("channels"), n_embd);
    v(Field("dropout", "probability of dropping an element while training").in(below(0, 1)), dropout);
    v(Field("bias", "biases in linear layers and layer norms"), bias);
    v(Field("norm", "normalisation before each half of a block").one_of({"layer", "rms"}), norm);
    v(Field("norm_gain", "learned weight in normalisations"), norm_gain);
    v(Field("activation", "function inside the MLP")
          .one_of({"gelu", "gelu_tanh", "relu", "relu_squared", "silu"}),
      activation);
    v(Field("tie_weights", "use the token embedding as the output matrix too"), tie_weights);
    v(Field("init_std", "standard deviation of the initial weights").between(0, 10), init_std);
    v(Field("positions", "learned: a vector per position; rotary: queries and keys turned by it")
          .one_of({"learned", "rotary"})
          .added_later(),
      positions);
    v(Field("qk_norm", "normalise queries and keys of each head").added_later(), qk_norm);
    v(Field("zero_init", "start the last matrix of every branch at zero").added_later(), zero_init);
  }

  // Throws Error unless the parts fit together (n_head divides n_embd, ...), before anything is allocated.
  void validate() const;
  NormKind norm_kind() const;
  bool rotary() const { return positions == "rotary"; }
  Activation activation_kind() const;
};

}  // namespace minigpt
