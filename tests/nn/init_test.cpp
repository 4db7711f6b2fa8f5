#include "nn/init.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>

#include "nn/embedding.h"
#include "nn/linear.h"
#include "nn/norm.h"
#include "tensor/views.h"
#include "tests/reference_files.h"

namespace minigpt {
namespace {

using nlohmann::json;

Variable parameter(const Shape& shape, DType dtype = DType::f32) {
  return Variable(zeros(shape, dtype), true);
}

std::vector<double> values(const Variable& p) { return p.value().to(DType::f64).to_vector<double>(); }

double deviation(const std::vector<double>& x, double mean) {
  double total = 0;
  for (const double v : x) total += (v - mean) * (v - mean);
  return std::sqrt(total / static_cast<double>(x.size()));
}

// Equal within 3 %: what chance leaves open with 10,000 values, many times over.
bool near(double a, double b) { return std::abs(a - b) <= 0.03 * std::abs(b); }

// All values lie in [-bound, bound], reach close to both ends, and spread as a uniform distribution does.
void check_uniform(const Variable& p, double bound) {
  const std::vector<double> x = values(p);
  const auto [low, high] = std::minmax_element(x.begin(), x.end());
  CHECK(*low >= -bound * (1 + 1e-6));
  CHECK(*high <= bound * (1 + 1e-6));
  CHECK(*low < -0.98 * bound);
  CHECK(*high > 0.98 * bound);
  CHECK(near(deviation(x, 0), bound / std::sqrt(3.0)));
}

TEST_CASE("init: bounds and spreads follow from fan-in and fan-out") {
  Generator rng(3);
  Variable p = parameter({50, 200});  // out 50, in 200
  init::kaiming_uniform_(p, 0, rng);
  check_uniform(p, std::sqrt(6.0 / 200));
  init::kaiming_uniform_(p, 0, rng, init::Fan::out);
  check_uniform(p, std::sqrt(6.0 / 50));
  init::kaiming_uniform_(p, std::sqrt(5.0), rng);  // Linear's own: 1/sqrt(in)
  check_uniform(p, 1 / std::sqrt(200.0));
  init::xavier_uniform_(p, 1, rng);
  check_uniform(p, std::sqrt(6.0 / 250));
  init::xavier_uniform_(p, 2, rng);
  check_uniform(p, 2 * std::sqrt(6.0 / 250));
  init::uniform_(p, -3, 3, rng);
  check_uniform(p, 3);

  init::kaiming_normal_(p, 0, rng);
  CHECK(near(deviation(values(p), 0), std::sqrt(2.0 / 200)));
  init::kaiming_normal_(p, 0, rng, init::Fan::out);
  CHECK(near(deviation(values(p), 0), std::sqrt(2.0 / 50)));
  init::xavier_normal_(p, 3, rng);
  CHECK(near(deviation(values(p), 0), 3 * std::sqrt(2.0 / 250)));
  init::normal_(p, 5, 0.1, rng);
  CHECK(near(deviation(values(p), 5), 0.1));

  init::trunc_normal_(p, 0, 1, -0.5, 0.25, rng);
  const std::vector<double> cut = values(p);
  CHECK(*std::min_element(cut.begin(), cut.end()) >= -0.5);
  CHECK(*std::max_element(cut.begin(), cut.end()) <= 0.25);
}

TEST_CASE("init: constants draw nothing") {
  Variable p = parameter({2, 2});
  init::ones_(p);
  CHECK(values(p) == std::vector<double>(4, 1));
  init::zeros_(p);
  CHECK(values(p) == std::vector<double>(4, 0));
  init::constant_(p, -2.5);
  CHECK(values(p) == std::vector<double>(4, -2.5));
  CHECK(init::leaky_relu_gain(0) == doctest::Approx(std::sqrt(2.0)).epsilon(1e-15));
  CHECK(init::leaky_relu_gain(std::sqrt(5.0)) == doctest::Approx(std::sqrt(1.0 / 3)).epsilon(1e-15));
}

TEST_CASE("init: what has no fans, or is no floating parameter, is refused") {
  Generator rng(1), untouched(1);
  Variable vector = parameter({4});
  CHECK_THROWS_WITH_AS(init::kaiming_uniform_(vector, 0, rng),
                       doctest::Contains("(out, in) matrix, got shape (4)"), Error);
  CHECK_THROWS_AS(init::xavier_normal_(vector, 1, rng), Error);
  Variable whole(zeros({2, 2}, DType::i32));
  CHECK_THROWS_WITH_AS(init::normal_(whole, 0, 1, rng), doctest::Contains("int32"), Error);
  Variable crosswise(transpose(zeros({2, 3})));
  CHECK_THROWS_WITH_AS(init::normal_(crosswise, 0, 1, rng), doctest::Contains("row-major"), Error);
  CHECK(rng.state() == untouched.state());
}

// ---- PyTorch's draws, through the layers and initialisers themselves

using Rule = std::function<std::vector<double>(Generator&, const json&)>;

Shape shape_of(const json& args) {
  const auto extents = args.at("shape").get<std::vector<std::int64_t>>();
  return Shape(extents.begin(), extents.end());
}

template <class Fill>
std::vector<double> filled(const json& args, const Fill& fill) {
  Variable p = parameter(shape_of(args));
  fill(p);
  return values(p);
}

double slope(const json& args) { return args.value("a", 0.0); }

const std::map<std::string, Rule>& rules() {
  static const std::map<std::string, Rule> table = {
      {"Linear",
       [](Generator& rng, const json& a) {
         const Linear layer(a.at("in"), a.at("out"), a.at("bias"), rng);
         std::vector<double> x = values(layer.weight);
         if (!layer.bias.defined()) return x;
         const std::vector<double> bias = values(layer.bias);
         x.insert(x.end(), bias.begin(), bias.end());
         return x;
       }},
      {"Embedding",
       [](Generator& rng, const json& a) { return values(Embedding(a.at("num"), a.at("dim"), rng).weight); }},
      {"LayerNorm_then_rand",
       [](Generator& rng, const json& a) {
         const LayerNorm layer(a.at("dim"));
         CHECK(values(layer.weight) == std::vector<double>(a["dim"].get<std::size_t>(), 1));
         Variable p = parameter({a.at("n").get<std::int64_t>()});
         init::uniform_(p, 0, 1, rng);
         return values(p);
       }},
      {"kaiming_uniform_",
       [](Generator& rng, const json& a) {
         return filled(a, [&](Variable& p) { init::kaiming_uniform_(p, slope(a), rng); });
       }},
      {"kaiming_normal_",
       [](Generator& rng, const json& a) {
         return filled(a, [&](Variable& p) { init::kaiming_normal_(p, slope(a), rng); });
       }},
      {"xavier_uniform_",
       [](Generator& rng, const json& a) {
         return filled(a, [&](Variable& p) { init::xavier_uniform_(p, a.at("gain"), rng); });
       }},
      {"xavier_normal_",
       [](Generator& rng, const json& a) {
         return filled(a, [&](Variable& p) { init::xavier_normal_(p, a.at("gain"), rng); });
       }},
      {"trunc_normal_",
       [](Generator& rng, const json& a) {
         return filled(a, [&](Variable& p) {
           init::trunc_normal_(p, a.at("mean"), a.at("std"), a.at("a"), a.at("b"), rng);
         });
       }},
  };
  return table;
}

// What the files ask for and these functions do not do: a padding row, and the fans of a convolution.
bool left_out(const json& entry) {
  const json& a = entry.at("args");
  return a.contains("padding_idx") || (a.contains("shape") && a["shape"].size() > 2);
}

TEST_CASE("init: layers and initialisers draw what PyTorch draws, and no word more") {
  std::map<std::string, int> ran;
  int skipped = 0;
  for (const json& entry : reference::load("torch_rng.json")) {
    const std::string rule = entry.at("rule");
    if (!rules().contains(rule)) continue;  // not about parameters
    if (left_out(entry)) {
      ++skipped;
      continue;
    }
    INFO(rule << " " << entry.at("args").dump());
    Generator rng(entry.at("seed").get<std::uint64_t>());
    const std::vector<double> actual = rules().at(rule)(rng, entry["args"]);
    CHECK(rng.u32() == entry.at("next_u32").get<std::uint32_t>());
    const json& expected = entry.at("expected");
    CHECK(actual.size() == (entry.contains("count") ? entry["count"].get<std::size_t>() : expected.size()));
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const std::size_t at = entry.contains("take") ? entry["take"].at(i).get<std::size_t>() : i;
      CHECK(std::abs(actual.at(at) - expected[i].get<double>()) <= entry.at("tol").get<double>());
    }
    ++ran[rule];
  }
  for (const auto& known : rules()) CHECK_MESSAGE(ran[known.first] > 0, "no case of " << known.first);
  MESSAGE("skipped (padding rows, convolutions): " << skipped);
}

}  // namespace
}  // namespace minigpt
