// What a Probe captures, against nanoGPT under PyTorch: activations directly, and the gradients of activations through the
// parameter gradients that they are made into: of y = x W^T + b, dW = dy^T x and db = sum of dy.

#include "models/probe.h"
#include "tensor/matmul.h"
#include "tensor/reduce.h"
#include "tests/models/reference_gpt.h"

namespace minigpt::reference {
namespace {

Tensor as_rows(const Tensor& x) {  // (B, T, C) -> (B T, C)
  return reshape(x.contiguous(), {x.dim(0) * x.dim(1), x.dim(2)});
}

TEST_CASE("reference GPT: a probe's activations, and its gradients as the parameters received them") {
  for_each_set([](const Set& set, DType dtype) {
    const Gpt gpt = set.model(dtype);
    Probe probe(gpt, {"*"});
    gpt.loss(set.batch("idx", 0), set.batch("targets", 0), probe.watching({})).backward();
    std::map<std::string, Captured> all;
    for (const Captured& c : probe.finish()) all.emplace(c.name, c);

    for (const auto& [name, value] : by_name(set.tensors("activations")))
      compare(name, all.at("transformer." + (name == "embed" ? "drop" : name)).value, value, Kind::result);

    const TensorMap grads = by_name(set.tensors("grads"));
    // y and x: names of the output and the input of a linear layer, w: of its weight.
    const auto check_linear = [&](const std::string& w, const std::string& y, const std::string& x) {
      const Tensor dy = as_rows(all.at(y).gradient);
      compare("gradient of " + w, matmul(transpose(dy, 0, 1), as_rows(all.at(x).value)),
              grads.at(w + ".weight"), Kind::gradient);
      if (set.config.bias)
        compare("gradient of " + w + ".bias", sum(dy, {0}), grads.at(w + ".bias"), Kind::gradient);
    };
    for (std::int64_t i = 0; i < set.config.n_layer; ++i) {
      const std::string h = fmt::format("transformer.h.{}", i);
      check_linear(h + ".attn.c_attn", h + ".attn.c_attn", h + ".ln_1");
      check_linear(h + ".attn.c_proj", h + ".attn.c_proj", h + ".attn.heads");
      check_linear(h + ".mlp.c_fc", h + ".mlp.c_fc", h + ".ln_2");
      check_linear(h + ".mlp.c_proj", h + ".mlp.c_proj", h + ".mlp.act");
      if (!set.config.bias) continue;
      compare(h + ".ln_1.bias", sum(as_rows(all.at(h + ".ln_1").gradient), {0}), grads.at(h + ".ln_1.bias"),
              Kind::gradient);
      compare(h + ".ln_2.bias", sum(as_rows(all.at(h + ".ln_2").gradient), {0}), grads.at(h + ".ln_2.bias"),
              Kind::gradient);
    }
    compare("positions", sum(all.at("transformer.drop").gradient, {0}), grads.at("transformer.wpe.weight"),
            Kind::gradient);
  });
}

}  // namespace
}  // namespace minigpt::reference
