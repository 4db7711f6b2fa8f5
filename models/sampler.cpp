#include "models/sampler.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "tensor/sampling.h"

namespace minigpt {

void SampleOptions::validate() const {
  check(std::isfinite(temperature) && temperature >= 0, "sample",
        "temperature must be finite and 0 or more, got {}", temperature);
  check(top_k >= 0, "sample", "top-k must be 0 or more, got {}", top_k);
  check(top_p > 0 && top_p <= 1, "sample", "top-p must be above 0 and at most 1, got {}", top_p);
}

namespace {

// `step` is for the message; below 0 it is not known.
void check_finite(std::span<const float> logits, std::int64_t step) {
  for (std::size_t i = 0; i < logits.size(); ++i)
    if (!std::isfinite(logits[i]))
      throw RunError(fmt::format("[sample] logits are not finite{}: token {} has {}",
                                 step < 0 ? "" : fmt::format(" at step {}", step), i, logits[i]));
}

// Keeps the likeliest tokens that together reach top_p, always at least one.
void cut_tail(std::vector<double>& p, double top_p) {
  std::vector<std::size_t> order(p.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return p[a] > p[b]; });
  double reached = 0;
  for (const std::size_t i : order) {
    if (reached >= top_p) p[i] = 0;
    reached += p[i];
  }
  const double total = std::accumulate(p.begin(), p.end(), 0.0);
  for (double& value : p) value /= total;
}

}  // namespace

std::vector<double> next_probabilities(std::span<const float> logits, const SampleOptions& options) {
  options.validate();
  check(!logits.empty() && options.temperature > 0, "sample", "needs logits and a temperature above 0");
  float threshold = -std::numeric_limits<float>::infinity();
  if (options.top_k > 0 && options.top_k < static_cast<std::int64_t>(logits.size())) {
    std::vector<float> sorted(logits.begin(), logits.end());
    std::nth_element(sorted.begin(), sorted.begin() + (options.top_k - 1), sorted.end(), std::greater<>());
    threshold = sorted[static_cast<std::size_t>(options.top_k - 1)];
  }
  // The largest logit is taken off before dividing, so a tiny temperature cannot overflow.
  const double top = *std::max_element(logits.begin(), logits.end());
  std::vector<double> p(logits.size());
  double total = 0;
  for (std::size_t i = 0; i < p.size(); ++i) {
    if (logits[i] >= threshold) p[i] = std::exp((static_cast<double>(logits[i]) - top) / options.temperature);
    total += p[i];
  }
  for (double& value : p) value /= total;
  if (options.top_p < 1) cut_tail(p, options.top_p);
  return p;
}

std::int32_t sample_token(std::span<const float> logits, const SampleOptions& options, Generator& rng) {
  options.validate();
  check_finite(logits, -1);
  if (options.temperature == 0)
    return static_cast<std::int32_t>(std::max_element(logits.begin(), logits.end()) - logits.begin());
  const std::vector<double> p = next_probabilities(logits, options);
  const std::vector<float> weights(p.begin(), p.end());
  return static_cast<std::int32_t>(multinomial(rng, std::span<const float>(weights), 1, 1)[0]);
}

void generate(const Gpt& model, std::span<const std::int32_t> prompt, std::int64_t count,
              const SampleOptions& options, Generator& rng,
              const std::function<bool(std::int32_t)>& on_token) {
  options.validate();
  check(!prompt.empty(), "sample", "the prompt must have at least one token");
  check(count >= 0, "sample", "the number of tokens must not be negative, got {}", count);
  const auto block = static_cast<std::size_t>(model.config.block_size);
  std::vector<std::int32_t> context(
      prompt.end() - static_cast<std::ptrdiff_t>(std::min(prompt.size(), block)), prompt.end());
  KvCache cache = model.make_cache(1);
  std::size_t cached = 0;  // tokens of the context that the cache holds
  for (std::int64_t i = 0; i < count; ++i) {
    if (context.size() > block) {  // the window slides: every position changes
      context.erase(context.begin());
      cache.clear();
      cached = 0;
    }
    const std::span<const std::int32_t> fresh = std::span(context).subspan(cached);
    const Tensor tokens = Tensor::from<std::int32_t>(fresh, {1, static_cast<std::int64_t>(fresh.size())});
    const Tensor logits = model.next_logits(tokens, cache).to(DType::f32);
    cached = context.size();
    const std::span<const float> scores(logits.data<float>(), static_cast<std::size_t>(logits.numel()));
    check_finite(scores, i);
    const std::int32_t next = sample_token(scores, options, rng);
    context.push_back(next);
    if (!on_token(next)) return;
  }
}

}  // namespace minigpt
