#include "tensor/generator.h"

#include <cmath>
#include <cstddef>
#include <limits>
#include <numbers>
#include <type_traits>
#include <utility>

#include "tensor/error.h"
#include "tensor/parallel.h"

namespace minigpt {

namespace {

constexpr std::size_t kBlock = 16;

// Blocks per range when the transform is split over threads: 64 blocks take some 15 microseconds.
constexpr std::int64_t kBlocksPerRange = 64;

template <class T>
T unit(Generator& rng) {
  if constexpr (std::is_same_v<T, float>)
    return rng.unit_float();
  else
    return rng.unit_double();
}

template <class T>
void fill_uniform(Generator& rng, std::span<T> out, double a, double b) {
  check(a <= b && std::isfinite(a) && std::isfinite(b), "uniform",
        "bounds must be finite with a <= b, got {} and {}", a, b);
  const T low = static_cast<T>(a), width = static_cast<T>(b) - low;
  // PyTorch's vector code rounds once here, so a separate product and sum would differ in half of the last
  // bits.
  for (T& x : out) x = std::fma(unit<T>(rng), width, low);
}

// Turns 16 unit uniforms into 16 normals, in place.
template <class T>
void box_muller(T* e, T mean, T std) {
  for (std::size_t j = 0; j < kBlock / 2; ++j) {
    const T radius = std::sqrt(T(-2) * std::log(T(1) - e[j]));
    // The angle is rounded to T: kept in double it would be further from PyTorch's numbers than all the rest
    // together.
    const T angle = static_cast<T>(2 * std::numbers::pi) * e[j + kBlock / 2];
    e[j] = std::fma(radius * std::cos(angle), std, mean);
    e[j + kBlock / 2] = std::fma(radius * std::sin(angle), std, mean);
  }
}

void check_normal(double mean, double std) {
  check(std >= 0 && std::isfinite(std) && std::isfinite(mean), "normal",
        "mean must be finite and std finite and >= 0, got {} and {}", mean, std);
}

// The block path: out.size() >= 16.
template <class T>
void fill_normal_blocks(Generator& rng, std::span<T> out, double mean, double std) {
  const T m = static_cast<T>(mean), s = static_cast<T>(std);
  for (T& x : out) x = unit<T>(rng);
  // Drawing is sequential by nature; the transform is not, and takes most of the time.
  const auto blocks = static_cast<std::int64_t>(out.size() / kBlock);
  parallel_for(blocks, kBlocksPerRange, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) box_muller(&out[static_cast<std::size_t>(i) * kBlock], m, s);
  });
  if (out.size() % kBlock == 0) return;
  const std::span<T> last = out.last(kBlock);
  for (T& x : last) x = unit<T>(rng);
  box_muller(last.data(), m, s);
}

template <class T>
void fill_randint(Generator& rng, std::span<T> out, std::int64_t low, std::int64_t high) {
  check(low < high, "randint", "low must be below high: {} >= {}", low, high);
  check(std::in_range<T>(low) && std::in_range<T>(high - 1), "randint",
        "[{}, {}) does not fit a {}-bit integer", low, high, 8 * sizeof(T));
  for (T& x : out) x = static_cast<T>(rng.randint(low, high));
}

}  // namespace

void Generator::seed(std::uint64_t seed) {
  auto& x = state_.words;
  x[0] = static_cast<std::uint32_t>(seed);
  for (std::uint32_t j = 1; j < x.size(); ++j) x[j] = 1812433253u * (x[j - 1] ^ (x[j - 1] >> 30)) + j;
  state_.position = static_cast<std::uint32_t>(x.size());
  state_.has_pending = false;
  state_.pending = 0;
}

void Generator::set_state(const GeneratorState& state) {
  check(state.position <= state.words.size(), "generator", "state position must be in [0, {}], got {}",
        state.words.size(), state.position);
  state_ = state;
}

// The next 624 words, in place: word i is made of words i, i + 1 and i + 397, counted around.
void Generator::regenerate() {
  auto& x = state_.words;
  const auto twist = [&x](std::size_t i, std::size_t next, std::size_t far) {
    const std::uint32_t y = (x[i] & 0x80000000u) | (x[next] & 0x7fffffffu);
    x[i] = x[far] ^ (y >> 1) ^ ((x[next] & 1u) * 0x9908b0dfu);
  };
  for (std::size_t i = 0; i < 227; ++i) twist(i, i + 1, i + 397);
  for (std::size_t i = 227; i < 623; ++i) twist(i, i + 1, i - 227);
  twist(623, 0, 396);
  state_.position = 0;
}

void Generator::uniform(std::span<float> out, double a, double b) { fill_uniform(*this, out, a, b); }
void Generator::uniform(std::span<double> out, double a, double b) { fill_uniform(*this, out, a, b); }

// Here the first uniform is the angle and the second the radius: the other way round than in a block.
double Generator::next_normal() {
  if (std::exchange(state_.has_pending, false)) return std::exchange(state_.pending, 0);
  const double angle = 2 * std::numbers::pi * unit_double();
  const double radius = std::sqrt(-2 * std::log(1 - unit_double()));
  state_.has_pending = true;
  state_.pending = radius * std::sin(angle);
  return radius * std::cos(angle);
}

template <class T>
void Generator::fill_normal_scalar(std::span<T> out, double mean, double std) {
  check_normal(mean, std);
  for (T& x : out) x = static_cast<T>(next_normal() * std + mean);
}

void Generator::normal_scalar(std::span<float> out, double mean, double std) {
  fill_normal_scalar(out, mean, std);
}
void Generator::normal_scalar(std::span<double> out, double mean, double std) {
  fill_normal_scalar(out, mean, std);
}

void Generator::normal(std::span<float> out, double mean, double std) {
  check_normal(mean, std);
  out.size() < kBlock ? fill_normal_scalar(out, mean, std) : fill_normal_blocks(*this, out, mean, std);
}

void Generator::normal(std::span<double> out, double mean, double std) {
  check_normal(mean, std);
  out.size() < kBlock ? fill_normal_scalar(out, mean, std) : fill_normal_blocks(*this, out, mean, std);
}

std::int64_t Generator::randint(std::int64_t low, std::int64_t high) {
  check(low < high, "randint", "low must be below high: {} >= {}", low, high);
  // Unsigned arithmetic throughout: high - low may exceed the largest signed integer.
  const std::uint64_t start = static_cast<std::uint64_t>(low),
                      range = static_cast<std::uint64_t>(high) - start;
  const std::uint64_t word = range >> 32 ? u64() : u32();
  return static_cast<std::int64_t>(start + word % range);
}

void Generator::randint(std::span<std::int32_t> out, std::int64_t low, std::int64_t high) {
  fill_randint(*this, out, low, high);
}
void Generator::randint(std::span<std::int64_t> out, std::int64_t low, std::int64_t high) {
  fill_randint(*this, out, low, high);
}

template <class T>
T Generator::random() {
  if constexpr (std::is_same_v<T, float>) {
    return static_cast<float>(u32() % ((1u << 24) + 1));
  } else if constexpr (std::is_same_v<T, double>) {
    return static_cast<double>(u64() % ((std::uint64_t{1} << 53) + 1));
  } else {
    // The largest value of T is 2^k - 1, so this mask is the "mod 2^k" of the rule.
    const auto mask = static_cast<std::uint64_t>(std::numeric_limits<T>::max());
    return static_cast<T>((sizeof(T) == 8 ? u64() : u32()) & mask);
  }
}
template std::int64_t Generator::random();
template std::int32_t Generator::random();
template std::int16_t Generator::random();
template std::uint8_t Generator::random();
template bool Generator::random();
template float Generator::random();
template double Generator::random();

std::vector<std::int64_t> Generator::randperm(std::int64_t n) {
  constexpr std::int64_t kLimit = (std::int64_t{1} << 32) / 20;
  check(n >= 0 && n < kLimit, "randperm", "n must be in [0, {}), got {}", kLimit, n);
  std::vector<std::int64_t> order(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::int64_t>(i);
  for (std::size_t i = 0; i + 1 < order.size(); ++i) {
    const std::size_t j = i + u32() % (order.size() - i);
    std::swap(order[i], order[j]);
  }
  return order;
}

}  // namespace minigpt
