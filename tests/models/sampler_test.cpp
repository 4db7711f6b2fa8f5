#include "models/sampler.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>

#include "tests/models/tiny_models.h"

namespace minigpt {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// Weights so large that the text depends on everything in the context and does not settle into one token.
Gpt model_with_block(std::int64_t block) {
  GptConfig config = test::tiny_config();
  config.block_size = block;
  config.vocab_size = 7;
  config.n_embd = 16;
  config.tie_weights = false;
  Generator rng(1);
  Gpt gpt(config, rng);
  for (NamedParameter& p : gpt.parameters())
    if (p.variable.rank() == 2) init::uniform_(p.variable, -1, 1, rng);
  return gpt;
}

SampleOptions with(double temperature, std::int64_t top_k = 0, double top_p = 1) {
  return {temperature, top_k, top_p};
}

std::vector<std::int32_t> continued(const Gpt& gpt, const std::vector<std::int32_t>& prompt,
                                    std::int64_t count, const SampleOptions& options,
                                    std::uint64_t seed = 1) {
  Generator rng(seed);
  std::vector<std::int32_t> out;
  generate(gpt, prompt, count, options, rng, [&](std::int32_t token) {
    out.push_back(token);
    return true;
  });
  return out;
}

// The plain way: the whole context anew for every token.
std::vector<std::int32_t> greedy_naively(const Gpt& gpt, std::vector<std::int32_t> text, std::int64_t count) {
  const auto block = static_cast<std::size_t>(gpt.config.block_size);
  std::vector<std::int32_t> out;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto context = std::span(text).last(std::min(text.size(), block));
    const Variable logits =
        gpt.forward(Tensor::from<std::int32_t>(context, {1, static_cast<std::int64_t>(context.size())}));
    const std::vector<float> all = logits.value().to_vector<float>();
    const auto last = all.end() - gpt.config.vocab_size;
    out.push_back(static_cast<std::int32_t>(std::max_element(last, all.end()) - last));
    text.push_back(out.back());
  }
  return out;
}

TEST_CASE("sampler: any prompt, any length, also beyond the context (S-01)") {
  const Gpt gpt = model_with_block(16);
  std::vector<std::int32_t> long_prompt(400);
  Generator rng(2);
  rng.randint(std::span<std::int32_t>(long_prompt), 0, 7);
  for (const std::size_t length : {1, 15, 16, 17, 400}) {
    const std::vector<std::int32_t> prompt(long_prompt.begin(),
                                           long_prompt.begin() + static_cast<long>(length));
    for (const std::int64_t count : {0, 1, 16, 17, 100}) {
      INFO("prompt of " << length << ", " << count << " tokens");
      CHECK(continued(gpt, prompt, count, with(0)) == greedy_naively(gpt, prompt, count));
    }
  }
  CHECK(continued(gpt, {3}, 500, with(1)).size() == 500);
  const std::vector<std::int32_t> greedy = continued(gpt, {3}, 100, with(0));
  CHECK(std::set<std::int32_t>(greedy.begin(), greedy.end()).size() >
        4);  // no model that says one thing only
}

TEST_CASE("sampler: texts written together are those written alone, whatever their lengths") {
  const Gpt gpt = model_with_block(16);
  for (const FullWindow window : {FullWindow::exact, FullWindow::chunk}) {
    SampleOptions options = with(1);
    options.window = window;
    const std::vector<std::vector<std::int32_t>> prompts = {{1},
                                                            {2, 3, 4},
                                                            {1},
                                                            std::vector<std::int32_t>(16, 5),
                                                            std::vector<std::int32_t>(15, 6),
                                                            std::vector<std::int32_t>(40, 2),
                                                            {0, 1},
                                                            {6},
                                                            {5},
                                                            {4, 4, 4, 4}};
    std::vector<std::vector<std::int32_t>> together(prompts.size()), alone;
    std::vector<TextRequest> texts;
    const std::size_t most = 7;  // of the last text, which its receiver stops
    for (std::size_t i = 0; i < prompts.size(); ++i) {
      texts.push_back({prompts[i], Generator(10 + i), [&, i](std::int32_t token) {
                         together[i].push_back(token);
                         return i + 1 < prompts.size() || together[i].size() < most;
                       }});
      alone.push_back(continued(gpt, prompts[i], 50, options, 10 + i));
    }
    alone.back().resize(most);
    GptDecoder decoder(gpt);
    generate(decoder, texts, 50, options);
    CHECK(together == alone);
    CHECK(alone[0] != alone[2]);  // the same prompt, another stream
  }
}

// The window that keeps its newest half, without a cache.
std::vector<std::int32_t> greedy_in_chunks(const Gpt& gpt, std::vector<std::int32_t> text,
                                           std::int64_t count) {
  const auto block = static_cast<std::size_t>(gpt.config.block_size);
  std::vector<std::int32_t> out;
  for (std::int64_t i = 0; i < count; ++i) {
    if (text.size() > block) text.erase(text.begin(), text.end() - std::max<std::ptrdiff_t>(1, block / 2));
    out.push_back(greedy_naively(gpt, text, 1)[0]);
    text.push_back(out.back());
  }
  return out;
}

TEST_CASE("sampler: with --window chunk the newest half of a full context stays") {
  for (const std::int64_t block : {1, 2, 3, 16}) {
    const Gpt gpt = model_with_block(block);
    SampleOptions options = with(0);
    options.window = FullWindow::chunk;
    const std::vector<std::int32_t> prompt = {1, 2};
    const std::size_t seen = std::min<std::size_t>(2, static_cast<std::size_t>(block));
    const std::vector<std::int32_t> chunked = continued(gpt, prompt, 100, options);
    CHECK(chunked == greedy_in_chunks(gpt, {prompt.end() - static_cast<long>(seen), prompt.end()}, 100));
    // Until the context is full there is no difference.
    const std::vector<std::int32_t> exact = continued(gpt, prompt, 100, with(0));
    const auto same = static_cast<std::ptrdiff_t>(block + 1 - static_cast<std::int64_t>(seen));
    CHECK(std::equal(exact.begin(), exact.begin() + same, chunked.begin()));
  }
}

TEST_CASE("sampler: the receiver can stop; a prompt is needed; a count is not negative") {
  const Gpt gpt = model_with_block(4);
  Generator rng(1);
  int seen = 0;
  generate(gpt, std::vector<std::int32_t>{1}, 100, with(1), rng, [&](std::int32_t) { return ++seen < 3; });
  CHECK(seen == 3);
  const auto ignore = [](std::int32_t) { return true; };
  CHECK_THROWS_WITH_AS(generate(gpt, {}, 1, with(1), rng, ignore), doctest::Contains("at least one token"),
                       Error);
  CHECK_THROWS_AS(generate(gpt, std::vector<std::int32_t>{1}, -1, with(1), rng, ignore), Error);
  CHECK_THROWS_AS(generate(gpt, std::vector<std::int32_t>{7}, 1, with(1), rng, ignore), Error);
}

TEST_CASE("sampler: temperature 0 is greedy and repeatable, tiny ones agree, nonsense is refused (S-02)") {
  const Gpt gpt = model_with_block(8);
  const std::vector<std::int32_t> prompt = {1, 2}, greedy = continued(gpt, prompt, 40, with(0));
  for (const double t : {0.0, -0.0, 1e-30, 1e-300, 1e-8})
    for (const std::uint64_t seed : {1, 2}) CHECK(continued(gpt, prompt, 40, with(t), seed) == greedy);
  CHECK(continued(gpt, prompt, 40, with(100)) != greedy);
  Generator rng(1);
  const std::vector<float> logits = {1, 2};
  for (const double bad : {-1.0, static_cast<double>(kInf), static_cast<double>(kNan)}) {
    CHECK_THROWS_WITH_AS(sample_token(logits, with(bad), rng), doctest::Contains("temperature"), Error);
    CHECK_THROWS_WITH_AS(continued(gpt, prompt, 1, with(bad)), doctest::Contains("temperature"), Error);
  }
  CHECK_THROWS_WITH_AS(with(1, -1).validate(), doctest::Contains("top-k"), Error);
  for (const double bad : {0.0, -0.5, 1.5, static_cast<double>(kNan)})
    CHECK_THROWS_WITH_AS(with(1, 0, bad).validate(), doctest::Contains("top-p"), Error);
}

TEST_CASE("sampler: of equal logits the lowest id is the greedy choice, and draws nothing") {
  Generator rng(1), untouched(1);
  CHECK(sample_token(std::vector<float>{1, 5, 5, 2}, with(0), rng) == 1);
  CHECK(sample_token(std::vector<float>{3, 3, 3}, with(0), rng) == 0);
  CHECK(sample_token(std::vector<float>{-2}, with(0), rng) == 0);
  CHECK(rng.state() == untouched.state());
}

TEST_CASE("sampler: logits that are not finite stop it, naming the step (S-04)") {
  Generator rng(1);
  for (const float bad : {kNan, kInf, -kInf})
    for (const double t : {0.0, 1.0})
      CHECK_THROWS_WITH_AS(sample_token(std::vector<float>{0, bad, 1}, with(t), rng),
                           doctest::Contains("logits are not finite: token 1 has"), RunError);
  Gpt gpt = model_with_block(4);
  // Position 2 alone is damaged, so the third context is the first that meets it.
  gpt.transformer.wpe.weight.mutable_value().mutable_data<float>()[2 * gpt.config.n_embd] = kNan;
  CHECK_THROWS_WITH_AS(continued(gpt, {1}, 10, with(1)), doctest::Contains("logits are not finite at step 2"),
                       RunError);
  CHECK(continued(gpt, {1}, 2, with(1)).size() == 2);
}

TEST_CASE("sampler: probabilities are softmax(logits / temperature)") {
  const std::vector<float> logits = {0, 1, -2};
  for (const double t : {0.5, 1.0, 3.0}) {
    const std::vector<double> p = next_probabilities(logits, with(t));
    const double total = 1 + std::exp(1 / t) + std::exp(-2 / t);
    CHECK(p[0] == doctest::Approx(1 / total).epsilon(1e-12));
    CHECK(p[1] == doctest::Approx(std::exp(1 / t) / total).epsilon(1e-12));
    CHECK(p[2] == doctest::Approx(std::exp(-2 / t) / total).epsilon(1e-12));
  }
  const std::vector<double> extreme = next_probabilities(std::vector<float>{1e30f, 0, -1e30f}, with(1e-30));
  CHECK(extreme == std::vector<double>{1, 0, 0});
  CHECK_THROWS_AS(next_probabilities(std::vector<float>{}, with(1)), Error);
  CHECK_THROWS_AS(next_probabilities(logits, with(0)), Error);
}

TEST_CASE("sampler: top-k keeps the k likeliest and everything that ties with the k-th") {
  const std::vector<float> logits = {1, 3, 2, 2, 0};
  const auto kept = [&](std::int64_t k) {
    std::vector<int> out;
    const std::vector<double> p = next_probabilities(logits, with(1, k));
    for (std::size_t i = 0; i < p.size(); ++i)
      if (p[i] > 0) out.push_back(static_cast<int>(i));
    CHECK(std::accumulate(p.begin(), p.end(), 0.0) == doctest::Approx(1).epsilon(1e-12));
    return out;
  };
  CHECK(kept(1) == std::vector<int>{1});
  CHECK(kept(2) == std::vector<int>{1, 2, 3});
  CHECK(kept(3) == std::vector<int>{1, 2, 3});
  CHECK(kept(4) == std::vector<int>{0, 1, 2, 3});
  for (const std::int64_t all : {0, 5, 100}) CHECK(kept(all).size() == 5);
}

TEST_CASE("sampler: top-p keeps the likeliest that together reach p, at least one, and rescales") {
  std::vector<float> logits;
  for (const double p : {0.1, 0.5, 0.15, 0.25}) logits.push_back(static_cast<float>(std::log(p)));
  const auto p = [&](double top_p, std::int64_t top_k = 0) {
    return next_probabilities(logits, with(1, top_k, top_p));
  };
  const auto same = [](const std::vector<double>& a, const std::vector<double>& b) {
    REQUIRE(a.size() == b.size());
    for (std::size_t i = 0; i < a.size(); ++i) CHECK(a[i] == doctest::Approx(b[i]).epsilon(1e-6));
  };
  same(p(1), {0.1, 0.5, 0.15, 0.25});
  same(p(0.7), {0, 2.0 / 3, 0, 1.0 / 3});
  same(p(0.8), {0, 0.5 / 0.9, 0.15 / 0.9, 0.25 / 0.9});
  same(p(0.3), {0, 1, 0, 0});
  same(p(1e-9), {0, 1, 0, 0});
  same(p(0.6, 2), {0, 1, 0, 0});  // after top-k: 2/3 and 1/3, and the first is enough
}

TEST_CASE("sampler: of equally likely tokens top-p keeps those of lower ids, and no more than it needs") {
  const std::vector<float> even(4, 1);  // a quarter each, without rounding
  const auto p = [&](double top_p) { return next_probabilities(even, with(1, 0, top_p)); };
  CHECK(p(0.25) == std::vector<double>{1, 0, 0, 0});
  CHECK(p(0.5) == std::vector<double>{0.5, 0.5, 0, 0});
  CHECK(p(0.51) == std::vector<double>{1 / 3.0, 1 / 3.0, 1 / 3.0, 0});
}

TEST_CASE("sampler: draws follow the probabilities, and 2 V words are drawn") {
  const std::vector<float> logits = {std::log(0.7f), std::log(0.2f), std::log(0.1f)};
  Generator rng(5);
  std::vector<int> counts(3, 0);
  for (int i = 0; i < 20000; ++i) ++counts[static_cast<std::size_t>(sample_token(logits, with(1), rng))];
  CHECK(std::abs(counts[0] / 20000.0 - 0.7) < 0.015);
  CHECK(std::abs(counts[1] / 20000.0 - 0.2) < 0.015);
  Generator one(9), other(9);
  sample_token(logits, with(1), one);
  for (int i = 0; i < 6; ++i) other.u32();
  CHECK(one.state() == other.state());
}

TEST_CASE("sampler: the seed decides the text; two samples from one stream differ (S-06)") {
  const Gpt gpt = model_with_block(8);
  CHECK(continued(gpt, {1}, 50, with(1), 3) == continued(gpt, {1}, 50, with(1), 3));
  CHECK(continued(gpt, {1}, 50, with(1), 3) != continued(gpt, {1}, 50, with(1), 4));
  Generator rng(3);
  std::vector<std::int32_t> first, second;
  for (std::vector<std::int32_t>* text : {&first, &second})
    generate(gpt, std::vector<std::int32_t>{1}, 50, with(1), rng, [&](std::int32_t token) {
      text->push_back(token);
      return true;
    });
  CHECK(first != second);
}

}  // namespace
}  // namespace minigpt
