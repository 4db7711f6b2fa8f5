#include "models/sampler.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "tensor/sampling.h"
#include "tensor/views.h"

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
                                 step < 0 ? "" : fmt::format(" at step {}", step), i,
                                 std::isnan(logits[i]) ? std::abs(logits[i]) : logits[i]));
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

namespace {

// A text under way.
struct Writer {
  TextRequest* text;
  std::vector<std::int32_t> context;  // what the model sees
  KvCache cache;                      // of all of it but the newest tokens
  bool done = false;

  std::span<const std::int32_t> uncached() const {
    return std::span(context).subspan(static_cast<std::size_t>(cache.length()));
  }
};

// Makes the context fit. If tokens leave it, those that stay have other positions, and nothing that is cached holds.
void fit(Writer& w, std::size_t block, FullWindow window) {
  if (w.context.size() <= block) return;
  const std::size_t kept = window == FullWindow::exact ? block : std::max<std::size_t>(1, block / 2);
  w.context.erase(w.context.begin(), w.context.end() - static_cast<std::ptrdiff_t>(kept));
  w.cache.clear();
}

// Picks the next token of `w` and hands it over.
void take(Writer& w, std::span<const float> logits, const SampleOptions& options, std::int64_t step) {
  check_finite(logits, step);
  const std::int32_t next = sample_token(logits, options, w.text->rng);
  w.context.push_back(next);
  w.done = !w.text->on_token(next);
}

// Logits of the next token of each writer, (B, V) float32: of those that wait with one new token together, of the others
// one by one.
Tensor next_logits(GptDecoder& decoder, std::span<Writer* const> writers) {
  const std::int64_t block = decoder.config().block_size;
  Tensor logits = Tensor::empty({static_cast<std::int64_t>(writers.size()), decoder.config().vocab_size});
  const auto row = [&](std::size_t b) {
    return slice(logits, 0, static_cast<std::int64_t>(b), static_cast<std::int64_t>(b) + 1);
  };
  std::vector<std::int32_t> tokens;
  std::vector<KvCache*> caches;
  std::vector<std::size_t> rows;
  for (std::size_t b = 0; b < writers.size(); ++b) {
    Writer& w = *writers[b];
    if (w.uncached().size() == 1) {
      tokens.push_back(w.context.back());
      caches.push_back(&w.cache);
      rows.push_back(b);
    } else {
      // A full context is followed by another one: its keys and values would not be used.
      const bool keep = static_cast<std::int64_t>(w.context.size()) < block;
      row(b).copy_(decoder.window(w.context, keep ? &w.cache : nullptr));
    }
  }
  if (tokens.empty()) return logits;
  const Tensor& stepped = decoder.step(tokens, caches);
  for (std::size_t i = 0; i < rows.size(); ++i)
    row(rows[i]).copy_(slice(stepped, 0, static_cast<std::int64_t>(i), static_cast<std::int64_t>(i) + 1));
  return logits;
}

}  // namespace

void generate(GptDecoder& decoder, std::span<TextRequest> texts, std::int64_t count,
              const SampleOptions& options) {
  options.validate();
  check(count >= 0, "sample", "the number of tokens must not be negative, got {}", count);
  const auto block = static_cast<std::size_t>(decoder.config().block_size);
  std::vector<Writer> writers;
  for (TextRequest& text : texts) {
    check(!text.prompt.empty(), "sample", "the prompt must have at least one token");
    const std::size_t seen = std::min(text.prompt.size(), block);
    writers.push_back({&text,
                       {text.prompt.end() - static_cast<std::ptrdiff_t>(seen), text.prompt.end()},
                       decoder.make_cache()});
  }
  for (std::int64_t i = 0; i < count; ++i) {
    std::vector<Writer*> active;
    for (Writer& w : writers)
      if (!w.done) active.push_back(&w);
    if (active.empty()) return;
    for (Writer* w : active) fit(*w, block, options.window);
    const Tensor logits = next_logits(decoder, active);
    const auto V = static_cast<std::size_t>(logits.dim(1));
    for (std::size_t b = 0; b < active.size(); ++b)
      take(*active[b], {logits.data<float>() + b * V, V}, options, i);
  }
}

void generate(const Gpt& model, std::span<const std::int32_t> prompt, std::int64_t count,
              const SampleOptions& options, Generator& rng,
              const std::function<bool(std::int32_t)>& on_token) {
  GptDecoder decoder(model);
  TextRequest text{{prompt.begin(), prompt.end()}, rng, on_token};
  generate(decoder, {&text, 1}, count, options);
  rng = text.rng;
}

}  // namespace minigpt
