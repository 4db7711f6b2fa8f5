#include "autograd/ops/cross_entropy.h"
#include "autograd/ops/embedding.h"
#include "autograd/ops/layer_norm.h"
#include "autograd/ops/linear.h"
#include "autograd/ops/log_softmax.h"
#include "autograd/ops/matmul.h"
#include "autograd/ops/rms_norm.h"
#include "autograd/ops/softmax.h"
#include "nn/attention/scaled_dot_product_attention.h"
#include "tests/autograd/reference_ops.h"

namespace minigpt::reference {
namespace {

using Outputs = std::vector<Variable>;

Outputs cross_entropy_of(const OpCase& c) {
  const std::string name = c.attrs.at("reduction").get<std::string>();
  const Reduction reduction = name == "mean"  ? Reduction::mean
                              : name == "sum" ? Reduction::sum
                                              : Reduction::none;
  return {cross_entropy(c["x"], c.constant("target"), reduction, c.integer("ignore_index"))};
}

Outputs sdpa_of(const OpCase& c) {
  AttentionOptions options;
  options.mask = c.constant("mask");
  options.causal = c.flag("causal");
  if (c.has("scale")) options.scale = c.real("scale");
  Attention a = scaled_dot_product_attention(c["q"], c["k"], c["v"], options);
  return {a.out, a.weights};
}

Outputs embedding_of(const OpCase& c) {
  if (!c.has("padding_idx")) return {embedding(c["weight"], c.constant("index"))};
  return {embedding(c["weight"], c.constant("index"), c.integer("padding_idx"))};
}

}  // namespace

OpTable fused_ops() {
  return {
      {"matmul", [](const OpCase& c) { return Outputs{matmul(c.first(), c.second())}; }},
      {"linear", [](const OpCase& c) { return Outputs{linear(c["x"], c["weight"], c["bias"])}; }},
      {"softmax", [](const OpCase& c) { return Outputs{softmax(c.first(), c.integer("dim"))}; }},
      {"log_softmax", [](const OpCase& c) { return Outputs{log_softmax(c.first(), c.integer("dim"))}; }},
      {"cross_entropy", cross_entropy_of},
      {"layer_norm",
       [](const OpCase& c) {
         return Outputs{
             layer_norm(c["x"], c.dims("normalized_shape"), c["weight"], c["bias"], c.real("eps"))};
       }},
      {"rms_norm", [](const OpCase& c) { return Outputs{rms_norm(c["x"], c["weight"], c.real("eps"))}; }},
      {"embedding", embedding_of},
      {"sdpa", sdpa_of},
  };
}

}  // namespace minigpt::reference
