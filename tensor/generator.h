#pragma once
// A random number generator that gives the numbers PyTorch gives on the CPU, for the same seed and the same
// calls.
//
// Source: the mt19937 engine of Matsumoto and Nishimura, "Mersenne Twister" (1998); on top of it
// PyTorch 1.13's rules for turning words into floats, normals and integers. Each rule below says how many
// 32-bit words it consumes, because two programs only stay in step if they consume the same number.
//
// Fills write contiguous memory in order, on one stream: the number of threads has no influence. A transposed
// tensor is filled in the order of its memory.

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "tensor/simd/no_fast_math.h"

namespace minigpt {

// Everything a Generator remembers; write it to a checkpoint to go on exactly where a run stopped.
struct GeneratorState {
  std::array<std::uint32_t, 624> words{};  // mt19937's state
  std::uint32_t position = 624;            // how many of them have been given out, 0..624
  bool has_pending = false;                // a second normal of the scalar path waits for the next call
  double pending = 0;                      // that normal, unscaled

  bool operator==(const GeneratorState&) const = default;
};

class Generator {
 public:
  // The seed of a torch.Generator() that is never seeded.
  static constexpr std::uint64_t kDefaultSeed = 67280421310721;

  explicit Generator(std::uint64_t seed = kDefaultSeed) { this->seed(seed); }

  // Starts over, as torch.manual_seed. Only the low 32 bits count; a negative seed s means s + 2^64, which is
  // what the conversion to unsigned gives. Drops a pending normal.
  void seed(std::uint64_t seed);

  const GeneratorState& state() const { return state_; }
  // Throws Error if the position is not in [0, 624].
  void set_state(const GeneratorState& state);

  // The next word of the engine.
  std::uint32_t u32() {
    if (state_.position == state_.words.size()) regenerate();
    std::uint32_t y = state_.words[state_.position++];
    y ^= y >> 11;
    y ^= (y << 7) & 0x9d2c5680u;
    y ^= (y << 15) & 0xefc60000u;
    return y ^ (y >> 18);
  }

  // Two words, the first one is the high half.
  std::uint64_t u64() {
    const std::uint64_t high = u32();
    return high << 32 | u32();
  }

  // A uniform number in [0, 1), exact: (u32() mod 2^24) / 2^24 (1 word) or (u64() mod 2^53) / 2^53 (2 words).
  float unit_float() { return static_cast<float>(u32() & 0xffffffu) * 0x1p-24f; }
  double unit_double() { return static_cast<double>(u64() & 0x1fffffffffffffu) * 0x1p-53; }

  // Uniform in [a, b): fma(unit, b - a, a), with a and b rounded to the type first. 1 word per float, 2 per
  // double. Throws Error unless a <= b and both are finite.
  void uniform(std::span<float> out, double a = 0, double b = 1);
  void uniform(std::span<double> out, double a = 0, double b = 1);

  // Normal with the given mean and standard deviation (Box and Muller, 1958). Fewer than 16 elements take the
  // scalar path below. Others are made in blocks of 16 in the type of `out`: for j in 0..7, with u the unit
  // uniforms,
  //   r = sqrt(-2 ln(1 - u[j])),  t = 2 pi u[j + 8],  out[j] = r cos(t) std + mean,  out[j + 8] = r sin(t)
  //   std + mean.
  // If n is not a multiple of 16, the last 16 elements are made once more from 16 new uniforms. n uniforms,
  // plus 16 in that case (a uniform is 1 word for float, 2 for double). Throws Error unless std >= 0 and both
  // are finite.
  void normal(std::span<float> out, double mean = 0, double std = 1);
  void normal(std::span<double> out, double mean = 0, double std = 1);

  // The same distribution one value at a time in double; PyTorch takes this path for a tensor that is not
  // contiguous, whatever its size. Values come in pairs of 4 words; the second one stays pending, across all
  // other calls.
  void normal_scalar(std::span<float> out, double mean = 0, double std = 1);
  void normal_scalar(std::span<double> out, double mean = 0, double std = 1);

  // An integer in [low, high): low + word mod (high - low). 1 word, or 2 if high - low >= 2^32. PyTorch does
  // not reject words to even out the modulo, so neither do we. Throws Error unless low < high.
  std::int64_t randint(std::int64_t low, std::int64_t high);
  // Throws Error also if the range does not fit the type.
  void randint(std::span<std::int32_t> out, std::int64_t low, std::int64_t high);
  void randint(std::span<std::int64_t> out, std::int64_t low, std::int64_t high);

  // Tensor.random_() without limits: any value of an integer type that is not negative; for a floating type
  // the integers it can count, 0..2^24 (float) or 0..2^53 (double). For T = int64_t, int32_t, int16_t,
  // uint8_t, bool, float, double; 2 words for the 64-bit types, else 1.
  template <class T>
  T random();

  // The numbers 0..n-1 in random order; n - 1 words. Throws Error unless 0 <= n < 2^32 / 20 (PyTorch goes
  // another way beyond).
  std::vector<std::int64_t> randperm(std::int64_t n);

 private:
  void regenerate();
  double next_normal();
  template <class T>
  void fill_normal_scalar(std::span<T> out, double mean, double std);

  GeneratorState state_;
};

}  // namespace minigpt
