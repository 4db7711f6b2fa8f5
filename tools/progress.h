#pragma once
// What a training run shows while it runs: one live line on a terminal, plain lines elsewhere, or JSON.

#include <optional>

#include "models/metrics.h"

namespace minigpt::tools {

enum class OutputStyle { live, plain, json };

// live if standard output is a terminal.
OutputStyle default_style();

class Progress : public TrainListener {
 public:
  // A line every `log_every` steps; on a terminal, one that is drawn over ten times a second.
  Progress(OutputStyle style, std::int64_t total_steps, std::int64_t log_every)
      : style_(style), total_(total_steps), every_(log_every) {}
  // Where the speed comes from, once that exists.
  void set_watch(const Stopwatch* watch) { watch_ = watch; }

  void on_step(const StepReport& report) override;
  void on_evaluation_start(std::int64_t step) override;
  void on_evaluation(const EvalReport& report) override;
  void on_save(std::int64_t step) override;
  // Ends the live line.
  void finish();

 private:
  void draw(const std::string& text);

  OutputStyle style_;
  std::int64_t total_;
  std::int64_t every_;
  const Stopwatch* watch_ = nullptr;
  std::optional<double> val_loss_;
  double smooth_loss_ = 0;
  std::int64_t seen_ = 0;
  std::chrono::steady_clock::time_point drawn_{};
  bool line_open_ = false;
};

// "1:05", "2:03:04".
std::string clock_text(double seconds);

}  // namespace minigpt::tools
