#include "models/train_optimizer.h"

#include <doctest/doctest.h>

#include <set>

#include "nn/optim/muon.h"
#include "tests/models/tiny_models.h"

namespace minigpt {
namespace {

using test::tiny_run;
using test::weights_of;

TrainConfig muon_run() {
  TrainConfig config = tiny_run();
  config.optimizer = "muon";
  config.model.tie_weights = false;
  config.weight_decay = 0.3;
  config.muon_momentum = 0.7;
  config.muon_scale = 0.4;
  config.beta1 = 0.6;
  config.beta2 = 0.8;
  config.adam_eps = 1e-3;
  return config;
}

TEST_CASE(
    "optimizer of a run: Muon takes the matrices inside the blocks and nothing else; vectors do not decay") {
  const TrainConfig config = muon_run();
  Generator rng(1);
  Gpt gpt(config.model, rng);
  const std::vector<NamedParameter> parameters = gpt.parameters();
  const std::unique_ptr<Optimizer> optimizer = make_optimizer(config, parameters);
  std::set<std::string> with_momentum, expected;
  for (const NamedTensor& t : optimizer->state())
    if (t.name.starts_with("momentum.")) with_momentum.insert(t.name.substr(9));
  for (const char* block : {"transformer.h.0.", "transformer.h.1."})
    for (const char* matrix : {"attn.c_attn", "attn.c_proj", "mlp.c_fc", "mlp.c_proj"})
      expected.insert(std::string(block) + matrix + ".weight");
  CHECK(with_momentum == expected);
  std::size_t count = 0;
  for (const ParameterGroup& group : optimizer->groups())
    for (const NamedParameter& p : group.parameters) {
      INFO(p.name);
      CHECK(group.weight_decay == (p.variable.rank() == 2 ? 0.3 : 0));
      ++count;
    }
  CHECK(count == parameters.size());
}

TEST_CASE("optimizer of a run: every setting of Muon and of AdamW beside it reaches the update") {
  const TrainConfig config = muon_run();
  const auto stepped = [&](bool by_hand) {
    Generator rng(1);
    Gpt gpt(config.model, rng);
    std::vector<NamedParameter> matrices, others;
    for (const NamedParameter& p : gpt.parameters())
      (p.variable.rank() == 2 && p.name.starts_with("transformer.h.") ? matrices : others).push_back(p);
    std::unique_ptr<Optimizer> optimizer = make_optimizer(config, gpt.parameters());
    if (by_hand)
      optimizer = std::make_unique<Muon>(std::vector<ParameterGroup>{{matrices, config.learning_rate, 0.3}},
                                         decay_groups(others, config.learning_rate, 0.3),
                                         MuonOptions{0.7, 0.4}, AdamOptions{0.6, 0.8, 1e-3});
    for (int step = 0; step < 3; ++step) {
      for (NamedParameter p : gpt.parameters()) {
        Variable gradient(Tensor::empty(p.variable.shape()));
        init::normal_(gradient, 0, 0.1, rng);
        p.variable.set_grad(gradient);
      }
      optimizer->step();
    }
    return weights_of(gpt);
  };
  CHECK(stepped(false) == stepped(true));
}

}  // namespace
}  // namespace minigpt
