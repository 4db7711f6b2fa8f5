#include "models/open_block.h"

#include "autograd/ops/reshape.h"
#include "autograd/ops/split.h"
#include "nn/attention/scaled_dot_product_attention.h"

namespace minigpt {

const std::vector<std::string>& open_block_names() {
  static const std::vector<std::string> kNames = {"ln_1",         "attn.c_attn",
                                                  "attn.q",       "attn.k",
                                                  "attn.v",       "attn.scores",
                                                  "attn.weights", "attn.dropped_weights",
                                                  "attn.heads",   "attn.c_proj",
                                                  "attn",         "mid",
                                                  "ln_2",         "mlp.c_fc",
                                                  "mlp.act",      "mlp.c_proj",
                                                  "mlp",          ""};
  return kNames;
}

std::vector<NamedValue> open_block(const Block& block, const Variable& x, const Mode& mode) {
  const Scope scope(block.path);
  std::vector<NamedValue> all;
  // Names in the order of open_block_names().
  const auto step = [&](Variable value) {
    const std::string& name = open_block_names()[all.size()];
    all.push_back({name.empty() ? block.path : fmt::format("{}.{}", block.path, name), value});
    return value;
  };
  const CausalSelfAttention& attn = block.attn;
  const Variable c_attn = step(attn.c_attn.forward(step(block.ln_1.forward(x))));
  const std::int64_t B = x.dim(0), T = x.dim(1), C = x.dim(2), H = attn.n_head, D = C / H;
  const std::vector<Variable> parts = split(attn.prepared(c_attn, 0), C, 2);
  const auto to_heads = [&](const Variable& part) { return transpose(reshape(part, {B, T, H, D}), 1, 2); };
  const Variable q = step(to_heads(parts[0]));
  const Variable k = step(to_heads(parts[1]));
  const Variable v = step(to_heads(parts[2]));

  DropoutMask mask;
  if (mode.training && attn.attn_dropout.p > 0) mask = attn.attn_dropout.draw({B, H, T, T}, mode);
  const Variable scores = step(matmul(q, transpose(k)) * (1 / std::sqrt(static_cast<double>(D))));
  const Variable weights = step(softmax(detail::masked_scores(scores, tril_mask(T, T))));
  const Variable dropped = step(dropout(weights, mask));
  const Variable heads = step(reshape(transpose(matmul(dropped, v), 1, 2), {B, T, C}));
  const Variable attended = step(attn.resid_dropout.forward(step(attn.c_proj.forward(heads)), mode));

  const Variable mid = step(x + attended);
  const Variable hidden = step(block.mlp.c_fc.forward(step(block.ln_2.forward(mid))));
  const Variable projected = step(block.mlp.c_proj.forward(step(activate(hidden, block.mlp.activation))));
  const Variable fed = step(block.mlp.dropout.forward(projected, mode));
  step(mid + fed);
  return all;
}

}  // namespace minigpt
