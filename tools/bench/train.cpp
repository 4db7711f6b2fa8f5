#include "tools/bench/train.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "autograd/profile.h"
#include "models/trainer.h"
#include "tensor/dispatch.h"
#include "tensor/parallel.h"
#include "tools/bench/clock.h"
#include "tools/bench/flops.h"
#include "tools/bench/memory_use.h"
#include "tools/bench/peak.h"

namespace minigpt::tools {
namespace {

constexpr int kWarmUp = 3;

// Notes when each step ends. The profile begins with the first timed step.
class Stopwatch : public TrainListener {
 public:
  Stopwatch(int steps, bool profile) : steps_(steps), profile_(profile) {}

  void on_step(const StepReport& report) override {
    const double time = now();
    if (report.step >= kWarmUp) {
      seconds_.push_back(time - last_);
      tokens_.push_back(static_cast<double>(report.tokens));
    }
    if (report.step == kWarmUp - 1) {
      reset_peak_memory();
      allocations_ = memory_stats().system_allocations;
      if (profile_) watch_.emplace();
    }
    if (report.step == kWarmUp + steps_ - 1) {
      if (watch_) rows_ = watch_->rows();
      watch_.reset();
      peak_ = memory_stats().peak_bytes;
      allocations_ = memory_stats().system_allocations - allocations_;
      stop_ = true;  // so that no last evaluation is made
    }
    last_ = now();
  }

  const std::atomic<bool>& stop() const { return stop_; }
  double seconds() const { return median(seconds_); }
  double tokens() const { return median(tokens_); }
  std::int64_t peak_tensor_bytes() const { return peak_; }
  std::int64_t allocations() const { return allocations_; }
  const std::vector<ProfileRow>& rows() const { return rows_; }

 private:
  int steps_;
  bool profile_;
  double last_ = 0;
  std::vector<double> seconds_, tokens_;
  std::int64_t peak_ = 0, allocations_ = 0;
  std::optional<Profile> watch_;
  std::vector<ProfileRow> rows_;
  std::atomic<bool> stop_ = false;
};

void print_profile(const std::vector<ProfileRow>& rows, int steps) {
  double total = 0;
  for (const ProfileRow& r : rows) total += r.forward + r.backward;
  fmt::print("\n{:<22} {:>11} {:>14} {:>14} {:>8}\n", "per step", "calls", "forward ms", "backward ms",
             "share");
  for (const ProfileRow& r : rows)
    fmt::print("{:<22} {:>11.1f} {:>14.3f} {:>14.3f} {:>7.1f}%\n", r.name,
               static_cast<double>(r.calls) / steps, 1e3 * r.forward / steps, 1e3 * r.backward / steps,
               100 * (r.forward + r.backward) / total);
}

nlohmann::ordered_json profile_json(const std::vector<ProfileRow>& rows, int steps) {
  auto list = nlohmann::ordered_json::array();
  for (const ProfileRow& r : rows)
    list.push_back({{"op", r.name},
                    {"calls", static_cast<double>(r.calls) / steps},
                    {"forward_ms", 1e3 * r.forward / steps},
                    {"backward_ms", 1e3 * r.backward / steps}});
  return list;
}

}  // namespace

void bench_train(TrainBench bench) {
  TrainConfig& c = bench.config;
  c.steps = kWarmUp + bench.steps + 1;
  c.eval_every = c.save_every = std::int64_t{1} << 40;  // an evaluation at step 0 remains, of one batch
  c.eval_batches = 1;
  const CharTokenizer tokenizer = CharTokenizer::from_text(bench.text, c.documents);
  const TrainData data(c, tokenizer, bench.text, "the text");
  c.model.vocab_size = tokenizer.vocab_size();
  Trainer trainer(c, tokenizer, data);
  Stopwatch watch(bench.steps, bench.profile);
  constexpr double kPeakTime = 0.1;
  double peak = measure_peak(bench.dtype, num_threads(), kPeakTime);
  trainer.run(nullptr, watch, &watch.stop());
  peak = 1e-9 * std::max(peak, measure_peak(bench.dtype, num_threads(), kPeakTime));

  const double seconds = watch.seconds();
  const double context = watch.tokens() / static_cast<double>(c.batch_size * c.micro_batches);
  const double flops = step_flops(c.model, watch.tokens(), context);
  const double gflops = 1e-9 * flops / seconds;
  const double megabytes = 1e-6 * static_cast<double>(peak_resident_bytes());
  if (bench.json) {
    nlohmann::ordered_json out;
    out["preset"] = bench.preset;
    out["dtype"] = bench.dtype;
    out["threads"] = num_threads();
    out["ms_per_step"] = 1e3 * seconds;
    out["tokens_per_s"] = watch.tokens() / seconds;
    out["gflops"] = gflops;
    out["share_of_peak"] = gflops / peak;
    out["peak_mb"] = megabytes;
    if (bench.profile) out["profile"] = profile_json(watch.rows(), bench.steps);
    fmt::print("{}\n", out.dump());
    return;
  }
  fmt::print("{}, {}, {} threads, {} kernels, {} symbols: {} steps of {:.0f} tokens, {:.2f} GFLOP each\n",
             bench.preset, bench.dtype, num_threads(), kernel_set().name, c.model.vocab_size, bench.steps,
             watch.tokens(), 1e-9 * flops);
  fmt::print("  {:.2f} ms a step (median), {:.0f} tokens/s\n", 1e3 * seconds, watch.tokens() / seconds);
  fmt::print("  {:.1f} GFLOP/s, {:.3f} of the multiply-add peak, {:.1f}\n", gflops, gflops / peak, peak);
  fmt::print("  memory: {:.1f} MB at most, tensors {:.1f} MB; {} blocks from the system in {} steps\n",
             megabytes, 1e-6 * static_cast<double>(watch.peak_tensor_bytes()), watch.allocations(),
             bench.steps);
  if (bench.profile) print_profile(watch.rows(), bench.steps);
}

}  // namespace minigpt::tools
