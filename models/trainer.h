#pragma once
// The training loop.
//
// One iteration, in nanoGPT's order (train.py), so that one random stream gives its batches and its losses:
//   evaluate if due;  for each micro-batch: forward, draw the next batch, backward;  clip;  AdamW step.

#include <atomic>
#include <optional>
#include <string>

#include "models/model_folder.h"
#include "models/train_data.h"
#include "nn/dropout_stream.h"

namespace minigpt {

struct StepReport {
  std::int64_t step = 0;  // number of the iteration, from 0
  double loss = 0;        // of the last micro-batch, nats per token
  double learning_rate = 0;
  double grad_norm = 0;  // before clipping
  std::int64_t tokens = 0;
};

struct EvalReport {
  std::int64_t step = 0;
  double train_loss = 0;
  std::optional<double> val_loss;  // none without a validation part
  bool best = false;               // the best so far, and saved
};

// Receives what happens in a run; the command prints it.
class TrainListener {
 public:
  virtual ~TrainListener() = default;
  virtual void on_step(const StepReport&) {}
  virtual void on_evaluation_start(std::int64_t /*step*/) {}
  virtual void on_evaluation(const EvalReport&) {}
  // Before a state is saved: a log that belongs to it is flushed, and entered in it.
  virtual void on_save_start(TrainState&) {}
  virtual void on_save(std::int64_t /*step*/) {}
};

// What an update is made of, for whoever looks at it.
struct UpdateView {
  std::int64_t step;
  const Gpt& model;
  const std::vector<NamedParameter>& parameters;  // with their gradients, before clipping
  const Tensor& inputs;                           // tokens (B, T) of the last micro-batch
  double grad_norm, clip;                         // gradients are multiplied by `clip` in the update
};

// Looks at some of the updates of a run, and changes nothing.
class UpdateWatcher {
 public:
  virtual ~UpdateWatcher() = default;
  virtual bool due(std::int64_t step) const = 0;
  // Only for steps that are due.
  virtual void before_update(const UpdateView&) {}
  virtual void after_update(const UpdateView&) {}
  // As TrainListener's.
  virtual void on_save_start(TrainState&) {}
};

enum class StopReason { finished, interrupted, early_stop };

class Trainer {
 public:
  // A fresh run: draws the model from the seed.
  Trainer(const TrainConfig& config, const CharTokenizer& tokenizer, const TrainData& data);
  // The dropout stream may point to the generator beside it, so a trainer stays where it is.
  Trainer(const Trainer&) = delete;
  Trainer& operator=(const Trainer&) = delete;

  // Copies the weights of another model with the same shape: fine-tuning.
  void start_from(Gpt& other);
  // Goes on from the folder's last saved state. Throws Error if that does not fit the configuration or the text.
  void resume(const ModelFolder& folder);

  // Shows the updates of later runs to a watcher, which must outlive them; null for none.
  void set_watcher(UpdateWatcher* watcher) { watcher_ = watcher; }

  // Looks through every result and every gradient of later runs, and stops a run with Anomaly, a RunError (autograd/anomaly.h),
  // at the first that is not finite: tells where in the model, and from which values. Updates stay the same bits.
  void detect_anomalies(bool on) { detect_anomalies_ = on; }

  // Runs until config.steps updates have been made, or `interrupt` becomes true, or early stop. An interrupted update is given
  // up after the micro-batch in hand, and made again from its start when the run goes on.
  // Saves into `folder` (may be null: nothing is written): best weights at evaluations, the whole state every save_every
  // steps and at the end. Throws RunError, before the update, at the first loss or gradient that is not finite, and before a
  // save of weights that give none; the states saved earlier stay.
  StopReason run(const ModelFolder* folder, TrainListener& listener,
                 const std::atomic<bool>* interrupt = nullptr);

  Gpt& model() { return *model_; }
  const TrainState& state() const { return state_; }
  TrainState& state() { return state_; }

 private:
  EvalReport evaluate(Generator* rng);
  std::optional<double> mean_loss(Split split, Generator* rng);
  // scheduled: counts for early stopping.
  void keep_if_best(const ModelFolder* folder, EvalReport& report, bool scheduled);
  std::optional<StepReport> update();  // none if it was interrupted
  bool interrupted() const { return interrupt_ && interrupt_->load(); }
  void save(const ModelFolder* folder, TrainListener& listener);
  std::string bad_weight() const;  // " (NAME holds values ...)" of the first such weight, or ""
  void check_weights() const;
  [[noreturn]] void stop_not_finite(const std::string& what) const;

  TrainConfig config_;
  const TrainData& data_;
  Generator rng_;
  std::unique_ptr<Gpt> model_;
  std::vector<NamedParameter> parameters_;
  std::unique_ptr<Optimizer> optimizer_;
  DropoutStream dropout_;
  Schedule schedule_;
  TokenBatch batch_;  // drawn, not used yet
  TrainState state_;
  const std::atomic<bool>* interrupt_ = nullptr;
  UpdateWatcher* watcher_ = nullptr;
  bool detect_anomalies_ = false;
  std::int64_t saved_step_ = -1;
  // Where an update began that may be given up: the stream, and the batch in hand.
  Generator rng_before_;
  std::vector<std::int64_t> offsets_before_;
};

}  // namespace minigpt
