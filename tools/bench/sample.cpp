#include "tools/bench/sample.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "models/sampler.h"
#include "tensor/dispatch.h"
#include "tensor/parallel.h"
#include "tools/bench/clock.h"

namespace minigpt::tools {
namespace {

// The median time of f, called at least three times and for about `seconds`.
template <class F>
double time_of(double seconds, const F& f) {
  f();
  std::vector<double> times;
  const double end = now() + seconds;
  while (times.size() < 3 || now() < end) {
    const double start = now();
    f();
    times.push_back(now() - start);
  }
  return median(std::move(times));
}

// `count` tokens written after a prompt of `prompt` tokens: seconds per token.
double writing(const Gpt& model, std::int64_t prompt, std::int64_t count, double seconds) {
  Generator rng(1);
  const std::vector<std::int32_t> start(static_cast<std::size_t>(prompt), 0);
  const double time = time_of(seconds, [&] {
    generate(model, start, count, SampleOptions(), rng, [](std::int32_t) { return true; });
  });
  return time / static_cast<double>(count);
}

// A context filled token by token in B texts at once: seconds per token.
double writing_at_once(const Gpt& model, std::int64_t batch, double seconds) {
  KvCache cache = model.make_cache(batch);
  const Tensor token = zeros({batch, 1}, DType::i32);
  const std::int64_t length = model.config.block_size;
  const double time = time_of(seconds, [&] {
    cache.clear();
    for (std::int64_t i = 0; i < length; ++i) model.next_logits(token, cache);
  });
  return time / static_cast<double>(length * batch);
}

// A whole context read at once: seconds per token.
double reading(const Gpt& model, double seconds) {
  KvCache cache = model.make_cache(1);
  const std::int64_t length = model.config.block_size;
  const Tensor tokens = zeros({1, length}, DType::i32);
  const double time = time_of(seconds, [&] {
    cache.clear();
    model.next_logits(tokens, cache);
  });
  return time / static_cast<double>(length);
}

}  // namespace

void bench_sample(const SampleBench& bench) {
  Generator rng(1);
  const Gpt model(bench.model, rng);
  const std::int64_t context = bench.model.block_size;
  const double within = 1 / writing(model, 1, context, bench.seconds);
  const double beyond = 1 / writing(model, context + 1, std::min<std::int64_t>(context, 8), bench.seconds);
  const double prompt = 1 / reading(model, bench.seconds);
  std::vector<double> at_once;
  for (const std::int64_t batch : bench.batches)
    at_once.push_back(1 / writing_at_once(model, batch, bench.seconds));
  if (bench.json) {
    nlohmann::ordered_json out;
    out["preset"] = bench.preset;
    out["dtype"] = "f32";
    out["threads"] = num_threads();
    out["context"] = context;
    out["within_context"] = within;
    out["beyond_context"] = beyond;
    out["prompt"] = prompt;
    for (std::size_t i = 0; i < at_once.size(); ++i)
      out["at_once"].push_back({{"texts", bench.batches[i]}, {"tokens_per_s", at_once[i]}});
    fmt::print("{}\n", out.dump());
    return;
  }
  fmt::print("{}, context {}, {} threads, {} kernels: tokens/s\n", bench.preset, context, num_threads(),
             kernel_set().name);
  fmt::print("  {:<46} {:>12.0f}\n", "one text, within the context", within);
  fmt::print("  {:<46} {:>12.0f}\n", "one text, beyond it (all positions move)", beyond);
  fmt::print("  {:<46} {:>12.0f}\n", "reading a prompt as long as the context", prompt);
  for (std::size_t i = 0; i < at_once.size(); ++i)
    fmt::print("  {:<46} {:>12.0f}\n",
               fmt::format("texts at once, without choosing tokens: {}", bench.batches[i]), at_once[i]);
}

}  // namespace minigpt::tools
