#pragma once
// Learning rate as a function of the iteration.
//
//   warm-up    rate = learning_rate * (it + 1) / (warmup_iters + 1)               while it < warmup_iters
//   cosine     rate = min_lr + (learning_rate - min_lr) * (1 + cos(pi * p)) / 2   p reaches 1 at lr_decay_iters
//   wsd        rate = learning_rate, then a straight line down to min_lr over the last decay_iters
//   Both stay at min_lr after lr_decay_iters.
//
// Source: cosine, Loshchilov and Hutter 2017, "SGDR", section 3 (without restarts), in the form of nanoGPT's
// get_lr; warm-up-stable-decay, Hu et al. 2024, "MiniCPM", section 4.2, with the straight line of Haegele et
// al. 2024.

#include <cstdint>

namespace minigpt {

struct Schedule {
  enum class Kind {
    constant,  // always learning_rate; nothing else is used
    cosine,    // warm-up, then half a cosine wave down
    wsd,       // warm-up, stable, decay: the length of the run need not be known when it starts
  };

  Kind kind = Kind::cosine;
  double learning_rate = 1e-3;         // the highest rate
  double min_lr = 1e-4;                // the last rate
  std::int64_t warmup_iters = 100;     // iterations of warm-up
  std::int64_t lr_decay_iters = 5000;  // the iteration from which the rate is min_lr
  std::int64_t decay_iters = 1000;     // wsd only: iterations of the decay, which ends at lr_decay_iters

  // The rate of iteration `it`, counted from 0. Throws Error if `it` is negative or validate() would.
  double at(std::int64_t it) const;

  // Throws Error unless the rates are finite, 0 < learning_rate and 0 <= min_lr <= learning_rate, and warm-up
  // and decay both fit before lr_decay_iters. A constant schedule needs a good learning_rate only.
  void validate() const;
};

}  // namespace minigpt
