#include "nn/schedule.h"

#include <cmath>
#include <numbers>

#include "tensor/error.h"

namespace minigpt {

void Schedule::validate() const {
  constexpr std::string_view kOp = "schedule";
  check(std::isfinite(learning_rate) && learning_rate > 0, kOp,
        "learning_rate must be positive and finite, is {}", learning_rate);
  if (kind == Kind::constant) return;
  check(std::isfinite(min_lr) && min_lr >= 0, kOp, "min_lr must be finite and not negative, is {}", min_lr);
  check(min_lr <= learning_rate, kOp, "min_lr must not exceed learning_rate: {} > {}", min_lr, learning_rate);
  check(warmup_iters >= 0, kOp, "warmup_iters must not be negative, is {}", warmup_iters);
  // Equal would leave no iteration to decay in, and divide by zero.
  check(warmup_iters < lr_decay_iters, kOp, "warmup_iters must be less than lr_decay_iters: {} >= {}",
        warmup_iters, lr_decay_iters);
  if (kind == Kind::cosine) return;
  check(decay_iters > 0, kOp, "decay_iters must be positive, is {}", decay_iters);
  check(decay_iters <= lr_decay_iters - warmup_iters, kOp,
        "warm-up and decay must fit in lr_decay_iters: {} + {} > {}", warmup_iters, decay_iters,
        lr_decay_iters);
}

double Schedule::at(std::int64_t it) const {
  validate();
  check(it >= 0, "schedule", "iteration must not be negative, is {}", it);
  if (kind == Kind::constant) return learning_rate;
  // The first iteration already moves (it + 1), and the first one after the warm-up has the full rate.
  if (it < warmup_iters)
    return learning_rate * static_cast<double>(it + 1) / static_cast<double>(warmup_iters + 1);
  if (it > lr_decay_iters) return min_lr;

  // p: how much of the decay is over, from 0 to 1.
  const std::int64_t length = kind == Kind::cosine ? lr_decay_iters - warmup_iters : decay_iters;
  const std::int64_t done = it - (lr_decay_iters - length);
  if (done <= 0) return learning_rate;
  const double p = static_cast<double>(done) / static_cast<double>(length);
  const double share = kind == Kind::cosine ? 0.5 * (1.0 + std::cos(std::numbers::pi * p)) : 1.0 - p;
  return min_lr + share * (learning_rate - min_lr);
}

}  // namespace minigpt
