// E-03: the shapes that comments promise are those at run time.

#include <doctest/doctest.h>

#include <fstream>
#include <iterator>
#include <map>
#include <regex>

#include "models/attention_weights.h"
#include "models/probe.h"
#include "tests/models/tiny_models.h"

namespace minigpt {
namespace {

// The comment lines of a file, one after the other.
std::string comments_of(const std::string& file) {
  std::ifstream stream(std::string(MINIGPT_SOURCE_DIR "/") + file);
  REQUIRE_MESSAGE(stream.good(), file);
  std::string text;
  for (std::string line; std::getline(stream, line);) {
    const auto at = line.find("//");
    if (at != line.npos) text += line.substr(at + 2) + "\n";
  }
  return text;
}

// All extents differ, so that no two letters can be confused.
constexpr std::int64_t kBatch = 2;
GptConfig distinct_config() {
  GptConfig config = test::tiny_config();
  config.block_size = 7;
  config.vocab_size = 11;
  config.n_embd = 15;
  config.n_head = 3;
  config.n_layer = 2;
  return config;
}

// "(B, T, 3C)" with the numbers of that configuration.
Shape meaning(const std::string& comment) {
  const GptConfig c = distinct_config();
  const std::map<char, std::int64_t> extents = {
      {'B', kBatch},       {'T', c.block_size},        {'C', c.n_embd}, {'H', c.n_head},
      {'V', c.vocab_size}, {'D', c.n_embd / c.n_head}, {'L', c.n_layer}};
  Shape shape;
  const std::regex extent("([0-9]?)([A-Z])");
  for (std::sregex_iterator it(comment.begin(), comment.end(), extent), end; it != end; ++it) {
    const std::string factor = (*it)[1];
    shape.push_back((factor.empty() ? 1 : std::stoll(factor)) * extents.at((*it)[2].str()[0]));
  }
  return shape;
}

struct Fixture {
  Generator rng{1};
  Gpt gpt{distinct_config(), rng};
  Tensor tokens = test::tokens_for(distinct_config(), kBatch, distinct_config().block_size);
};

TEST_CASE("E-03: everything inside a block has the shape that models/open_block.h gives it") {
  Fixture f;
  Probe probe(f.gpt, {"*"});
  f.gpt.loss(f.tokens, f.tokens, probe.watching({})).backward();
  std::map<std::string, Captured> seen;
  for (const Captured& c : probe.finish()) seen.emplace(c.name, c);

  // "attn.q, attn.k, attn.v (B, H, T, D), as they are multiplied": names, and what they have in common.
  const std::string text = comments_of("models/open_block.h");
  const std::regex entry(R"(((?:[a-z_0-9.]+, )*[a-z_0-9.]+) \(([A-Z0-9, ]+)\))");
  int checked = 0;
  for (std::sregex_iterator it(text.begin(), text.end(), entry), end; it != end; ++it) {
    const std::string names = (*it)[1], shape = (*it)[2];
    const std::regex name("[a-z_0-9.]+");
    for (std::sregex_iterator n(names.begin(), names.end(), name); n != end; ++n) {
      const auto found = seen.find("transformer.h.1." + n->str());
      if (found == seen.end()) continue;  // a word before a shape that is no name
      CAPTURE(n->str());
      CHECK(found->second.value.shape() == meaning(shape));
      CHECK(found->second.gradient.shape() == meaning(shape));
      ++checked;
    }
  }
  CHECK(checked >= 8);
  // The names without a shape of their own are (B, T, C), as the block's input; scores and weights are said above.
  for (const char* name : {"attn", "mid", "ln_2", "mlp.c_proj", "mlp", "attn.c_proj"})
    CHECK(seen.at(std::string("transformer.h.0.") + name).value.shape() == meaning("(B, T, C)"));
  CHECK(seen.at("transformer.drop").value.shape() == meaning("(B, T, C)"));
  CHECK(seen.at("transformer.ln_f").value.shape() == meaning("(B, T, C)"));
  CHECK(seen.at("lm_head").value.shape() == meaning("(B, T, V)"));
}

TEST_CASE("E-03: what goes into a GPT and comes out of it has the shapes of models/gpt.h") {
  Fixture f;
  const std::string text = comments_of("models/gpt.h");
  for (const char* promise : {"tokens (B, T) -> token + position embedding (B, T, C)", "logits (B, T, V)",
                              "tokens: int32 (B, T), T <= block_size   ->   (B, T, V)", "->   (B, V)"})
    CHECK_MESSAGE(text.find(promise) != text.npos, promise);
  CHECK(f.tokens.shape() == meaning("(B, T)"));
  CHECK(f.gpt.forward(f.tokens).shape() == meaning("(B, T, V)"));
  KvCache cache = f.gpt.make_cache(kBatch);
  CHECK(f.gpt.next_logits(f.tokens, cache).shape() == meaning("(B, V)"));
}

TEST_CASE("E-03: attention weights have the shapes of models/attention_weights.h") {
  Fixture f;
  const std::string text = comments_of("models/attention_weights.h");
  CHECK(text.find("weights: (B, H, T, T), rows add up to 1") != text.npos);
  CHECK(text.find("L tensors of (B, H, T, T)") != text.npos);
  const std::vector<Tensor> weights = attention_weights(f.gpt, f.tokens);
  CHECK(static_cast<std::int64_t>(weights.size()) == distinct_config().n_layer);
  for (const Tensor& w : weights) CHECK(w.shape() == meaning("(B, H, T, T)"));
  visit_block_inputs(f.gpt, f.tokens, [](std::int64_t, const Tensor& input, const Tensor& output) {
    CHECK(input.shape() == meaning("(B, T, C)"));
    CHECK(output.shape() == meaning("(B, T, C)"));
  });
}

TEST_CASE("E-03: parameters have the shapes of their layers' comments") {
  Fixture f;
  const std::map<std::string, std::string> shapes = {
      {"transformer.wte.weight", "(V, C)"},           {"transformer.wpe.weight", "(T, C)"},
      {"transformer.h.0.ln_1.weight", "(C)"},         {"transformer.h.0.attn.c_attn.weight", "(3C, C)"},
      {"transformer.h.0.attn.c_attn.bias", "(3C)"},   {"transformer.h.0.attn.c_proj.weight", "(C, C)"},
      {"transformer.h.1.mlp.c_fc.weight", "(4C, C)"}, {"transformer.h.1.mlp.c_proj.weight", "(C, 4C)"}};
  std::size_t found = 0;
  for (const NamedParameter& p : f.gpt.parameters()) {
    const auto expected = shapes.find(p.name);
    if (expected == shapes.end()) continue;
    CAPTURE(p.name);
    CHECK(p.variable.shape() == meaning(expected->second));
    ++found;
  }
  CHECK(found == shapes.size());
}

}  // namespace
}  // namespace minigpt
