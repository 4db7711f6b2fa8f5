#include "tools/progress.h"

#include <fmt/core.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>

namespace minigpt::tools {
namespace {

std::string speed_text(double tokens_per_s) {
  if (tokens_per_s >= 1e6) return fmt::format("{:.2f} M tokens/s", tokens_per_s / 1e6);
  if (tokens_per_s >= 1e3) return fmt::format("{:.1f} k tokens/s", tokens_per_s / 1e3);
  return fmt::format("{:.0f} tokens/s", tokens_per_s);
}

int terminal_width() {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return 80;
}

std::string bar(double share, int width) {
  const int full = static_cast<int>(std::lround(share * width));
  return "[" + std::string(static_cast<std::size_t>(full), '#') +
         std::string(static_cast<std::size_t>(width - full), '.') + "]";
}

}  // namespace

OutputStyle default_style() { return isatty(STDOUT_FILENO) ? OutputStyle::live : OutputStyle::plain; }

std::string clock_text(double seconds) {
  const auto s = static_cast<std::int64_t>(std::ceil(std::min(1e12, seconds)));  // infinity fits no integer
  if (s >= 3600) return fmt::format("{}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60);
  return fmt::format("{}:{:02}", s / 60, s % 60);
}

void Progress::draw(const std::string& text) {
  // Cut to the window: a wrapped line could not be drawn over.
  const std::string shown = text.substr(0, static_cast<std::size_t>(std::max(20, terminal_width() - 1)));
  fmt::print("\r\033[K{}", shown);
  std::fflush(stdout);
  line_open_ = true;
}

void Progress::finish() {
  if (line_open_) fmt::print("\n");
  line_open_ = false;
  std::fflush(stdout);
}

void Progress::on_step(const StepReport& r) {
  const std::int64_t done = r.step + 1;
  ++seen_;
  // A running mean is easier to read than single batches; its memory grows to 20 steps.
  const double weight = 1.0 / static_cast<double>(std::min<std::int64_t>(seen_, 20));
  smooth_loss_ += weight * (r.loss - smooth_loss_);
  if (style_ == OutputStyle::json) {
    if (r.step % every_ == 0) fmt::print("{}\n", json_line(r, watch_ ? watch_->tokens_per_s() : 0));
    return;
  }
  const double per_step = watch_ ? watch_->seconds_per_step() : 0;
  const double left = per_step * static_cast<double>(total_ - done);
  const double speed = per_step > 0 ? static_cast<double>(r.tokens) / per_step : 0;
  if (style_ == OutputStyle::plain) {
    const bool early = seen_ == 1 || seen_ == 5;  // a first sign of life and of speed
    if (done % every_ != 0 && done != total_ && !early) return;
    fmt::print("step {:>6} of {}  loss {:.4f}  {}  {} left\n", done, total_, r.loss, speed_text(speed),
               clock_text(left));
    std::fflush(stdout);
    return;
  }
  const auto now = std::chrono::steady_clock::now();
  if (now - drawn_ < std::chrono::milliseconds(100) && done != total_) return;
  drawn_ = now;
  const std::string val = val_loss_ ? fmt::format("  val {:.4f}", *val_loss_) : "";
  const std::string text = fmt::format(" {}/{}  loss {:.4f}{}  {}  {} left", done, total_, smooth_loss_, val,
                                       speed_text(speed), clock_text(left));
  // The bar takes what the numbers leave of the line.
  const int room = terminal_width() - 3 - static_cast<int>(text.size());
  draw(bar(static_cast<double>(done) / static_cast<double>(total_), std::clamp(room, 0, 20)) + text);
}

void Progress::on_evaluation_start(std::int64_t step) {
  if (style_ == OutputStyle::live) draw(fmt::format("step {}: evaluating ...", step));
}

void Progress::on_evaluation(const EvalReport& r) {
  val_loss_ = r.val_loss;
  if (style_ == OutputStyle::json) {
    fmt::print("{}\n", json_line(r));
    std::fflush(stdout);
    return;
  }
  if (line_open_) fmt::print("\r\033[K");
  line_open_ = false;
  const std::string val = r.val_loss ? fmt::format("{:.4f}", *r.val_loss) : std::string("n/a");
  fmt::print("step {:>6}  train loss {:.4f}  val loss {}{}\n", r.step, r.train_loss, val,
             r.best ? "  (best so far)" : "");
  std::fflush(stdout);
}

void Progress::on_save(std::int64_t step) {
  // For programs that wait for a state to be safe; to a reader it would be one line more to pass over.
  if (style_ != OutputStyle::json) return;
  fmt::print("{{\"saved\":{}}}\n", step);
  std::fflush(stdout);
}

}  // namespace minigpt::tools
