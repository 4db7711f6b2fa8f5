#pragma once
// metrics.jsonl: the history of a run, one JSON object a line.
//
//   {"step": 7, "loss": 3.2, "lr": 0.001, "grad_norm": 1.5, "tokens_per_s": 52000}     a step (loss in nats per token)
//   {"step": 250, "train_loss": 2.4, "val_loss": 2.5}                                 an evaluation (null: none)
//
// metrics.csv: the same for spreadsheets, a header and one row a line, empty where a line has no such number:
//
//   step,loss,lr,grad_norm,tokens_per_s,train_loss,val_loss

#include <chrono>
#include <filesystem>

#include "models/trainer.h"
#include "nn/files.h"

namespace minigpt {

// The first line of a table.
inline constexpr std::string_view kTableHeader = "step,loss,lr,grad_norm,tokens_per_s,train_loss,val_loss";

std::string json_line(const StepReport& report, double tokens_per_s);
std::string json_line(const EvalReport& report);
std::string csv_line(const StepReport& report, double tokens_per_s);
std::string csv_line(const EvalReport& report);

// Cuts a file of such lines off after the last whose "step" is before from_step.
void keep_steps_before(AppendFile& file, std::int64_t from_step);

// Time per token, evaluations and saves left out.
class Stopwatch {
 public:
  void step(std::int64_t tokens);
  // Forgets the time since the latest step: it was spent on something else.
  void restart() { last_ = Clock::now(); }
  // Of the latest step.
  double tokens_per_s() const { return tokens_per_s_; }
  // Mean over all steps timed so far, in seconds; 0 before the first step.
  double seconds_per_step() const { return steps_ > 0 ? seconds_ / static_cast<double>(steps_) : 0; }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point last_ = Clock::now();
  double tokens_per_s_ = 0;
  double seconds_ = 0;
  std::int64_t steps_ = 0;
};

// Writes the history and passes everything on to another listener.
class MetricsLog : public TrainListener {
 public:
  // Appends to `path`, and to the file beside it whose name ends in .csv. What an earlier, longer run wrote for step
  // `from_step` and later is cut off first.
  MetricsLog(const std::filesystem::path& path, std::int64_t from_step, TrainListener& next);

  void on_step(const StepReport& report) override;
  void on_evaluation_start(std::int64_t step) override;
  void on_evaluation(const EvalReport& report) override;
  void on_save_start(TrainState& state) override;
  void on_save(std::int64_t step) override;
  const Stopwatch& watch() const { return watch_; }

 private:
  AppendFile file_, table_;
  FileSeal file_start_, table_start_;  // after the latest step
  TrainListener& next_;
  Stopwatch watch_;
};

}  // namespace minigpt
