// Replays calls that were recorded with PyTorch: the values must agree, and so must the next word of the generator, which
// proves that exactly as many words were consumed.

#include <doctest/doctest.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <set>
#include <string>

#include "tests/tensor/torch_rng_rules.h"

using minigpt::Generator;
using namespace torch_rng;

namespace {

using Rule = std::function<Values(Generator&, const json&)>;

const std::map<std::string, Rule>& rules() {
  static const std::map<std::string, Rule> table = {
      {"u32",
       [](Generator& g, const json& a) {
         for (int i = 0; i < a.value("skip", 0); ++i) g.u32();
         return times(count_of(a), [&] { return g.u32(); });
       }},
      {"u64", [](Generator& g, const json& a) { return times(count_of(a), [&] { return g.u64(); }); }},
      {"random_", rule_random},
      {"rand", rule_rand},
      {"uniform_",
       [](Generator& g, const json& a) {
         return filled(count_of(a), a, [&](auto& x) { g.uniform(x, number(a, "a", 0), number(a, "b", 1)); });
       }},
      {"uniform_strided",
       [](Generator& g, const json& a) {
         return strided(a, [&](auto& x, bool) { g.uniform(x, number(a, "a", 0), number(a, "b", 1)); });
       }},
      {"normal_",
       [](Generator& g, const json& a) {
         return filled(count_of(a), a,
                       [&](auto& x) { g.normal(x, number(a, "mean", 0), number(a, "std", 1)); });
       }},
      {"normal_strided",
       [](Generator& g, const json& a) {
         return strided(a, [&](auto& x, bool contiguous) {
           const double mean = number(a, "mean", 0), std = number(a, "std", 1);
           contiguous ? g.normal(x, mean, std) : g.normal_scalar(x, mean, std);
         });
       }},
      {"calls", rule_calls},
      {"randint",
       [](Generator& g, const json& a) {
         const std::int64_t low = a.contains("low") ? integer(a["low"]) : 0, high = integer(a.at("high"));
         return times(count_of(a), [&] { return g.randint(low, high); });
       }},
      {"randperm", [](Generator& g, const json& a) { return values_of(g.randperm(a.at("n"))); }},
      {"bernoulli_",
       [](Generator& g, const json& a) {
         return filled(count_of(a), a, [&](auto& x) { minigpt::bernoulli(g, x, number(a, "p", 0.5)); });
       }},
      {"bernoulli_tensor", rule_bernoulli_tensor},
      {"dropout", rule_dropout},
      {"exponential_",
       [](Generator& g, const json& a) {
         return filled(count_of(a), a, [&](auto& x) { minigpt::exponential(g, x, number(a, "lambd", 1)); });
       }},
      {"multinomial", rule_multinomial},
      {"multinomial_weights_i", rule_multinomial_weights_i},
      {"trunc_normal_",
       [](Generator& g, const json& a) {
         return filled(count_of(a), a, [&](auto& x) {
           minigpt::trunc_normal(g, x, number(a, "mean", 0), number(a, "std", 1), number(a, "a", -2),
                                 number(a, "b", 2));
         });
       }},
      {"kaiming_uniform_",
       [](Generator& g, const json& a) {
         return values_of(
             uniform(g, count_of(a), std::sqrt(3.0) * kaiming_std(a, a.at("shape").get<Shape>())));
       }},
      {"kaiming_normal_",
       [](Generator& g, const json& a) {
         return values_of(normal(g, count_of(a), kaiming_std(a, a.at("shape").get<Shape>())));
       }},
      {"xavier_uniform_",
       [](Generator& g, const json& a) {
         return values_of(
             uniform(g, count_of(a), std::sqrt(3.0) * xavier_std(a, a.at("shape").get<Shape>())));
       }},
      {"xavier_normal_",
       [](Generator& g, const json& a) {
         return values_of(normal(g, count_of(a), xavier_std(a, a.at("shape").get<Shape>())));
       }},
      {"Linear", rule_linear},
      {"Embedding", rule_embedding},
      {"LayerNorm_then_rand", rule_rand},  // LayerNorm draws nothing
      {"MultiheadAttention", rule_multihead_attention},
      {"dataloader_order", rule_dataloader_order},
      {"random_split", rule_random_split},
      {"nanogpt_init", rule_nanogpt_init},
      {"nanogpt_batches", rule_nanogpt_batches},
  };
  return table;
}

// Recorded with another build of PyTorch (section 13 of its description), or in need of a whole model.
const std::set<std::string> kElsewhere = {"mkl_bernoulli", "mkl_exponential_after_rand",
                                          "multinomial_race_one", "nanogpt_log", "book_ch03"};

std::string reference_file() {
  const char* folder = std::getenv("MINIGPT_REFERENCE");
  return (folder != nullptr ? std::string(folder) : std::string(MINIGPT_SOURCE_DIR) + "/tests/reference") +
         "/torch_rng.json";
}

std::uint64_t seed_of(const json& value) {
  if (value.is_string()) {
    const std::string text = value;
    return text.starts_with('-') ? static_cast<std::uint64_t>(std::stoll(text)) : std::stoull(text);
  }
  return value.is_number_unsigned() ? value.get<std::uint64_t>()
                                    : static_cast<std::uint64_t>(value.get<std::int64_t>());
}

// Integers too large for a double are recorded as decimal strings and must be equal.
bool agrees(const json& expected, const json& actual, double tolerance) {
  if (expected.is_string()) return actual.dump() == expected.get<std::string>();
  if (expected.is_boolean()) return expected.get<bool>() == (actual.get<double>() != 0);
  return std::abs(expected.get<double>() - actual.get<double>()) <= tolerance;
}

void check_case(const json& entry) {
  Generator rng(seed_of(entry.at("seed")));
  const Values actual = rules().at(entry.at("rule"))(rng, entry.at("args"));
  if (entry.contains("next_u32")) CHECK(rng.u32() == entry["next_u32"].get<std::uint32_t>());

  const json& expected = entry.at("expected");
  if (entry.contains("count")) REQUIRE(actual.size() == entry["count"].get<std::size_t>());
  if (!entry.contains("take")) REQUIRE(actual.size() == expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const std::size_t at = entry.contains("take") ? entry["take"].at(i).get<std::size_t>() : i;
    INFO("value " << at << ": expected " << expected[i].dump() << ", got " << actual.at(at).dump());
    CHECK(agrees(expected[i], actual.at(at), entry.at("tol").get<double>()));
  }
}

}  // namespace

TEST_CASE("the generator replays what PyTorch drew") {
  std::ifstream file(reference_file());
  REQUIRE_MESSAGE(file.good(), "cannot read " << reference_file());
  const json entries = json::parse(file);

  std::map<std::string, int> ran, skipped;
  for (const json& entry : entries) {
    const std::string rule = entry.at("rule");
    INFO("rule " << rule << ", seed " << entry.at("seed").dump() << ", args "
                 << entry.at("args").dump().substr(0, 200));
    if (kElsewhere.contains(rule)) {
      ++skipped[rule];
    } else if (!rules().contains(rule)) {
      FAIL_CHECK("unknown rule");
    } else {
      ++ran[rule];
      check_case(entry);
    }
  }

  int total = 0;
  for (const auto& [rule, count] : ran) total += count;
  std::string left_out;
  for (const auto& [rule, count] : skipped) left_out += " " + rule + " (" + std::to_string(count) + ")";
  MESSAGE("ran " << total << " recorded cases of " << ran.size()
                 << " rules; not a matter of raw draws:" << left_out);
  REQUIRE(total > 0);
}
