#include "models/trainer.h"

#include <cmath>
#include <utility>

#include "autograd/anomaly.h"
#include "autograd/ops/mul.h"
#include "autograd/profile.h"
#include "models/train_optimizer.h"
#include "tensor/dispatch.h"
#include "tensor/reduce.h"

namespace minigpt {
namespace {

// For messages: a NaN has a sign, which says nothing.
double without_sign(double x) { return std::isnan(x) ? std::abs(x) : x; }

}  // namespace

Trainer::Trainer(const TrainConfig& config, const CharTokenizer& tokenizer, const TrainData& data)
    : config_(config),
      data_(data),
      rng_(static_cast<std::uint64_t>(config.seed)),
      dropout_(config.torch_dropout ? DropoutStream::torch(rng_)
                                    : DropoutStream::counter(static_cast<std::uint64_t>(config.seed))),
      schedule_(config.learning_rate_schedule()) {
  config_.model.vocab_size = tokenizer.vocab_size();
  config_.validate();
  model_ = std::make_unique<Gpt>(config_.model, rng_);
  parameters_ = model_->parameters();
  optimizer_ = make_optimizer(config_, parameters_);
  batch_ = data_.train_batch(0, rng_);
  state_.text_fingerprint = data_.fingerprint();
  state_.settings = settings_checksum(config_);
  state_.tokenizer = checksum(tokenizer.to_json());
}

void Trainer::start_from(Gpt& other) {
  std::vector<NamedTensor> tensors;
  for (const NamedParameter& p : other.parameters()) tensors.push_back({p.name, p.variable.value()});
  load_parameters(parameters_, tensors, "the model to start from");
}

void Trainer::resume(const ModelFolder& folder) {
  // The state is read and tried first, so that a folder that does not fit leaves this trainer as it is.
  TrainState saved = folder.load_state();
  check(
      saved.text_fingerprint == data_.fingerprint(), "resume",
      "the text is not the one this run was started on ({} != {}); to train on another text use --init-from",
      data_.fingerprint(), saved.text_fingerprint);
  const std::size_t windows = config_.documents ? 1 : static_cast<std::size_t>(config_.batch_size);
  check(saved.batch_offsets.size() == windows, "resume", "{}: the batch in hand has {} windows, not {}",
        (folder.last() / "state.json").string(), saved.batch_offsets.size(), windows);
  if (config_.documents) {
    Generator unused;  // documents come in order
    const std::vector<std::int64_t> next =
        data_.train_batch(saved.step * config_.micro_batches, unused).offsets;
    check(saved.batch_offsets == next, "resume", "{}: document {} is in hand, after step {} it must be {}",
          (folder.last() / "state.json").string(), saved.batch_offsets[0], saved.step, next[0]);
  }
  TokenBatch batch = data_.train_batch_at(saved.batch_offsets);
  folder.load_last(parameters_, *optimizer_, state_);
  rng_.set_state(saved.generator);
  batch_ = std::move(batch);
  const TrainState fresh = std::exchange(state_, std::move(saved));
  state_.settings = fresh.settings;  // a state of an earlier version lacks them
  state_.tokenizer = fresh.tokenizer;
  saved_step_ = state_.step;
}

StopReason Trainer::run(const ModelFolder* folder, TrainListener& listener,
                        const std::atomic<bool>* interrupt) {
  StopReason reason = StopReason::finished;
  interrupt_ = interrupt;
  Generator* stream = config_.eval_mode == "batches" ? &rng_ : nullptr;
  while (state_.step < config_.steps) {
    if (interrupted()) {
      reason = StopReason::interrupted;
      break;
    }
    // A run that stops here makes the evaluation again when it goes on, so it must find everything as it was before it.
    const Generator before = rng_;
    const std::int64_t since_best_before = state_.evaluations_since_best;
    if (state_.step % config_.eval_every == 0) {
      listener.on_evaluation_start(state_.step);
      EvalReport report = evaluate(stream);
      if (interrupted()) {  // perhaps half done
        rng_ = before;
        reason = StopReason::interrupted;
        break;
      }
      keep_if_best(folder, report, true);
      listener.on_evaluation(report);
      if (config_.early_stop > 0 && state_.evaluations_since_best >= config_.early_stop) {
        reason = StopReason::early_stop;
        rng_ = before;
        state_.evaluations_since_best = since_best_before;
        break;
      }
    }
    const std::optional<StepReport> report = update();
    if (!report) {  // interrupted: the loop ends at its start
      rng_ = before;
      state_.evaluations_since_best = since_best_before;
      continue;
    }
    listener.on_step(*report);
    if (state_.step % config_.save_every == 0 && state_.step < config_.steps) save(folder, listener);
  }
  // The last evaluation is not part of the schedule, so it must not move the stream that a longer run would go on with.
  if (reason == StopReason::finished) {
    listener.on_evaluation_start(state_.step);
    Generator copy = rng_;
    EvalReport report = evaluate(stream ? &copy : nullptr);
    if (!interrupted()) {
      // Weights that went wrong in the last update must not replace the last good state.
      if (!std::isfinite(report.val_loss.value_or(report.train_loss)))
        stop_not_finite(fmt::format("the loss of the last evaluation is not finite{}", bad_weight()));
      keep_if_best(folder, report, false);
      listener.on_evaluation(report);
    }
  }
  save(folder, listener);
  return reason;
}

std::optional<StepReport> Trainer::update() {
  profile_mark("between steps");
  StepReport report;
  report.step = state_.step;
  report.learning_rate = schedule_.at(state_.step);
  const std::int64_t micro = config_.micro_batches;
  const ScopedMatmulPrecision precision(config_.matmul_precision());
  optimizer_->set_learning_rate(report.learning_rate);
  optimizer_->zero_grad();
  profile_mark("zero_grad");
  const bool watched = watcher_ && watcher_->due(state_.step);
  if (micro > 1) {
    rng_before_ = rng_;
    offsets_before_ = batch_.offsets;
  }
  Tensor inputs;
  std::optional<AnomalyMode> anomalies;
  if (detect_anomalies_) anomalies.emplace(state_.step);
  for (std::int64_t i = 0; i < micro; ++i) {
    if (i > 0 && interrupted()) {
      rng_ = rng_before_;
      batch_ = data_.train_batch_at(offsets_before_);
      return std::nullopt;
    }
    dropout_.begin(static_cast<std::uint64_t>(state_.step), static_cast<std::uint32_t>(i));
    Mode mode;
    mode.training = true;
    mode.dropout = &dropout_;
    mode.recompute = config_.recompute;
    report.tokens += batch_.inputs.numel();
    Variable loss = model_->loss(batch_.inputs, batch_.targets, mode);
    report.loss = loss.item();
    if (!std::isfinite(report.loss))
      stop_not_finite(fmt::format("the loss is {}{}", without_sign(report.loss), bad_weight()));
    if (watched && i + 1 == micro) inputs = batch_.inputs.clone();  // the next batch takes its memory
    data_.train_batch(state_.step * micro + i + 1, rng_, batch_);
    profile_mark("next batch");
    (micro == 1 ? loss : loss * (1.0 / static_cast<double>(micro))).backward();
    profile_mark("gradients of leaves");
  }
  anomalies.reset();
  report.grad_norm = grad_norm(parameters_);
  profile_mark("grad_norm");
  if (!std::isfinite(report.grad_norm)) {
    for (const NamedParameter& p : parameters_)
      if (p.variable.has_grad() && !all_finite(p.variable.grad().value()))
        stop_not_finite(fmt::format("the gradient of {} is not finite", p.name));
    stop_not_finite("the gradient norm overflows");
  }
  const double clip = config_.grad_clip > 0 ? clip_factor(report.grad_norm, config_.grad_clip) : 1.0;
  const UpdateView view{state_.step, *model_, parameters_, inputs, report.grad_norm, clip};
  if (watched) watcher_->before_update(view);
  profile_mark("watching");
  optimizer_->step(clip);
  profile_mark("optimizer");
  if (watched) watcher_->after_update(view);
  profile_mark("watching");
  ++state_.step;
  return report;
}

void Trainer::stop_not_finite(const std::string& what) const {
  std::string advice = "try a lower --learning-rate";
  if (config_.grad_clip == 0) advice += " or --grad-clip 1";
  throw RunError(
      fmt::format("[train] step {}: {}; the weights were not updated. {}", state_.step, what, advice));
}

std::string Trainer::bad_weight() const {
  for (const NamedParameter& p : parameters_)
    if (!all_finite(p.variable.value())) return fmt::format(" ({} holds values that are not finite)", p.name);
  return "";
}

std::optional<double> Trainer::mean_loss(Split split, Generator* rng) {
  if (split == Split::kValidation && !data_.has_validation()) return std::nullopt;
  const NoGrad no_grad;
  const ScopedMatmulPrecision precision(config_.matmul_precision());
  double total = 0;
  for (std::int64_t i = 0; i < config_.eval_batches && !interrupted(); ++i) {
    const TokenBatch batch = data_.eval_batch(split, i, config_.eval_batches, rng);
    total += model_->loss(batch.inputs, batch.targets).item();
  }
  return total / static_cast<double>(config_.eval_batches);
}

EvalReport Trainer::evaluate(Generator* rng) {
  EvalReport report;
  report.step = state_.step;
  report.train_loss = *mean_loss(Split::kTrain, rng);
  report.val_loss = mean_loss(Split::kValidation, rng);
  return report;
}

void Trainer::keep_if_best(const ModelFolder* folder, EvalReport& report, bool scheduled) {
  // Without a validation part the newest weights count as the best.
  const double loss = report.val_loss.value_or(report.train_loss);
  // Untrained weights are nobody's best: until the first trained ones are measured, last/ is all there is.
  // Nor are weights that are not finite, even where this evaluation did not meet them.
  if (!std::isfinite(loss) || report.step == 0 || !bad_weight().empty()) return;
  // The evaluation at the end of a run is made again when the run is prolonged; the same weights stay the best.
  const bool again = state_.best_loss && state_.best_step == report.step;
  report.best = !report.val_loss || !state_.best_loss || again || loss < *state_.best_loss;
  if (!report.best) {
    if (scheduled) ++state_.evaluations_since_best;
    return;
  }
  state_.best_loss = loss;
  state_.best_step = report.step;
  state_.evaluations_since_best = 0;
  if (folder) state_.best = folder->save_best(parameters_, state_);
}

// Weights that went wrong in the last update must not replace a good state: they are tried on the batch in hand.
void Trainer::check_weights() const {
  if (const std::string bad = bad_weight(); !bad.empty()) stop_not_finite("the last update went wrong" + bad);
  const NoGrad no_grad;
  const ScopedMatmulPrecision precision(config_.matmul_precision());
  const double loss = model_->loss(batch_.inputs, batch_.targets).item();
  if (!std::isfinite(loss))
    stop_not_finite(fmt::format("the loss after the last update is {}", without_sign(loss)));
}

void Trainer::save(const ModelFolder* folder, TrainListener& listener) {
  if (!folder || saved_step_ == state_.step) return;
  if (state_.step > 0) check_weights();
  state_.generator = rng_.state();
  state_.batch_offsets = batch_.offsets;
  state_.kernel_set = kernel_set().name;
  listener.on_save_start(state_);
  if (watcher_) watcher_->on_save_start(state_);
  folder->save_last(parameters_, *optimizer_, state_);
  saved_step_ = state_.step;
  listener.on_save(state_.step);
}

}  // namespace minigpt
