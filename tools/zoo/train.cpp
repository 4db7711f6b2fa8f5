#include <cmath>

#include "autograd/composition.h"
#include "autograd/ops/log_softmax.h"
#include "nn/optim/sgd.h"
#include "tools/zoo/net.h"
#include "tools/zoo/task.h"

namespace minigpt::zoo {
namespace {

struct Listener : TrainListener {
  TrainOutcome* outcome;
  explicit Listener(TrainOutcome& o) : outcome(&o) {}
  void on_step(const StepReport& r) override { outcome->steps.push_back({r.loss, r.grad_norm}); }
  void on_evaluation(const EvalReport& r) override { outcome->validation = r.val_loss; }
};

// Mean loss of the first windows, each read one character after the other.
double loss_when_writing(const Gpt& model, std::span<const std::int32_t> tokens) {
  const std::int64_t T = model.config.block_size;
  double nats = 0;
  std::int64_t count = 0;
  for (std::int64_t first = 0; first + T < static_cast<std::int64_t>(tokens.size()) && count < 8 * T;
       first += T) {
    KvCache cache = model.make_cache(1);
    for (std::int64_t t = 0; t < T; ++t, ++count) {
      const auto* at = tokens.data() + first + t;
      const Variable logits(model.next_logits(Tensor::from<std::int32_t>({at[0]}, {1, 1}), cache));
      nats -= log_softmax(logits).value().at({0, at[1]});
    }
  }
  return count > 0 ? nats / static_cast<double>(count) : 0;
}

TrainOutcome train_gpt(const Mutant& mutant, bool planted, TrainConfig config, std::u32string_view text) {
  apply_json(config, mutant.settings, "settings of the fault");
  const CharTokenizer tokenizer = CharTokenizer::from_text(text, config.documents);
  const TrainData data(config, tokenizer, text, "text");
  TrainOutcome outcome;
  Listener listener(outcome);
  Trainer trainer(config, tokenizer, data);
  {
    std::optional<ScopedComposition> in_steps;
    if (mutant.task == Task::gpt) in_steps.emplace();
    std::optional<Planted> fault;
    if (planted) fault.emplace(mutant);
    try {
      trainer.run(nullptr, listener);
    } catch (const RunError& e) {
      outcome.stopped = e.what();
    }
  }
  if (outcome.stopped.empty() && data.has_validation())
    outcome.writing = loss_when_writing(trainer.model(), data.tokens(Split::kValidation));
  return outcome;
}

TrainOutcome train_net(const Mutant& mutant, bool planted, const TrainConfig& config) {
  Generator rng(static_cast<std::uint64_t>(config.seed));
  Net net(rng);
  const std::vector<NamedParameter> parameters = named_parameters(net);
  Sgd sgd({{parameters, 0.1, 0}});
  std::optional<Planted> fault;
  if (planted) fault.emplace(mutant);
  TrainOutcome outcome;
  for (std::int64_t i = 0; i < config.steps; ++i) {
    sgd.zero_grad();
    const Variable loss = net.loss(net_batch(64, DType::f32, rng));
    loss.backward();
    const double norm = grad_norm(parameters);
    outcome.steps.push_back({loss.item(), norm});
    if (!std::isfinite(loss.item()) || !std::isfinite(norm)) {
      outcome.stopped = fmt::format("step {}: the loss is {}, the gradient norm {}", i, loss.item(), norm);
      break;
    }
    sgd.step(clip_factor(norm, 1));
  }
  return outcome;
}

}  // namespace

TrainConfig small_run() {
  TrainConfig c = preset("quick");
  c.model.block_size = 32;
  c.model.n_layer = 2;
  c.model.n_head = 2;
  c.model.n_embd = 32;
  c.model.bias = true;
  c.model.norm = "layer";
  c.model.norm_gain = true;
  c.model.activation = "gelu";
  c.model.positions = "learned";
  c.model.tie_weights = false;
  c.model.qk_norm = false;
  c.model.zero_init = false;
  c.model.dropout = 0;
  c.optimizer = "adamw";
  c.batch_size = 8;
  c.micro_batches = 1;
  c.learning_rate = 3e-3;
  c.min_lr = 3e-4;
  c.schedule = "cosine";
  c.steps = 300;
  c.warmup_steps = 20;
  c.lr_decay_steps = 300;
  c.eval_every = 1000000;
  c.eval_batches = 10;
  c.save_every = 1000000;
  return c;
}

TrainOutcome train(const Mutant& mutant, bool planted, const TrainConfig& config, std::u32string_view text) {
  return mutant.task == Task::net ? train_net(mutant, planted, config)
                                  : train_gpt(mutant, planted, config, text);
}

}  // namespace minigpt::zoo
