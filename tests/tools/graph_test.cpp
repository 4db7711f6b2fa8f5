// minigpt graph: the four formats, folding, and bad input.

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/tools/run_command.h"

namespace minigpt::test {
namespace {

using nlohmann::json;

constexpr const char* kWithData = "graph --model model --data english.txt --threads 1 --format ";

TEST_CASE("graph: folded, one node per module in the order of the forward pass; unfolded, every operation") {
  const Desk& desk = trained_desk();
  const Outcome folded = desk.run("graph --model model --threads 1");
  REQUIRE_MESSAGE(folded.code == 0, folded.text());
  CHECK(contains(folded.out, "transformer.wte embedding "));
  CHECK(contains(folded.out, "transformer.h.0.attn causal_attention"));
  CHECK(folded.out.find("transformer.h.0.attn.c_attn") < folded.out.find("transformer.h.0.mlp"));
  CHECK(contains(folded.out, "kept for the backward pass"));
  CHECK_FALSE(contains(folded.out, "c_fc.weight"));
  CHECK(
      contains(desk.run("graph --model model --unfold --threads 1").out, "transformer.h.0.mlp.c_fc.weight"));
  CHECK(contains(desk.run("graph --model model --parameters --threads 1").out,
                 "transformer.h.0.mlp.c_fc.weight"));
  // Everything below a block is the block's.
  const Outcome blocks = desk.run("graph --model model --depth 3 --threads 1");
  CHECK(contains(blocks.out, "transformer.h.0 "));
  CHECK_FALSE(contains(blocks.out, "transformer.h.0.attn"));
}

TEST_CASE("graph: JSON has nodes, edges between them, and with --data the gradient on each edge") {
  const Desk& desk = trained_desk();
  const Outcome run = desk.run(std::string(kWithData) + "json --unfold");
  REQUIRE_MESSAGE(run.code == 0, run.text());
  const json out = json::parse(run.out);
  CHECK(out["folded"] == false);
  CHECK(out["loss"] > 0);
  std::set<std::string> names;
  for (std::size_t i = 0; i < out["nodes"].size(); ++i) {
    const json& node = out["nodes"][i];
    CHECK(node["id"] == i);
    CHECK(node["grad_norm"].is_number());
    names.insert(node["name"].get<std::string>());
  }
  CHECK(names.contains("transformer.wte.weight"));
  CHECK(out["edges"].size() >= out["nodes"].size() - 1);
  for (const json& edge : out["edges"]) {
    CHECK(edge["from"] < out["nodes"].size());
    CHECK(edge["to"] < out["nodes"].size());
    CHECK(edge["grad_norm"].is_number());
  }
  const json shapes = json::parse(desk.run("graph --model model --format json --threads 1").out);
  CHECK(shapes["loss"].is_null());
  CHECK(shapes["nodes"][0]["grad_norm"].is_null());
}

TEST_CASE("graph: DOT declares every node that its edges name, and its brackets close") {
  const Desk& desk = trained_desk();
  for (const char* more : {"dot", "dot --unfold"}) {
    const std::string dot = desk.run(kWithData + std::string(more)).out;
    REQUIRE(dot.starts_with("digraph minigpt {\n"));
    CHECK(dot.ends_with("}\n"));
    CHECK(std::count(dot.begin(), dot.end(), '{') == std::count(dot.begin(), dot.end(), '}'));
    CHECK(contains(dot, "subgraph \"cluster transformer.h.0.attn\""));
    CHECK_FALSE(contains(dot, "subgraph \"cluster lm_head\""));  // one operation needs no box
    CHECK(contains(dot, "[label=\"lm_head\\nlinear\\n"));
    CHECK((contains(dot, "[label=\"causal_attention\\n") || std::string_view(more) == "dot"));
    std::set<std::string> declared;
    for (const std::string& line : lines_of(dot)) {
      const std::vector<std::string> words = words_of(line);
      if (words.size() >= 2 && words[1].starts_with("[label=")) declared.insert(words[0]);
      if (words.size() < 3 || words[1] != "->") continue;
      CHECK_MESSAGE(declared.contains(words[0]), line);
      CHECK_MESSAGE(declared.contains(words[2].substr(0, words[2].find(';'))), line);
    }
  }
}

TEST_CASE("V-08: graph: SVG comes from Graphviz's dot; where that is missing, one line says how to get it") {
  const Desk& trained = trained_desk();
  const Desk desk;
  desk.copy_from(trained, "model");
  RunOptions without;
  without.environment = {"PATH=" + (desk.path() / "bin").string()};
  const Outcome missing = desk.run("graph --model model --format svg --threads 1", without);
  CHECK(missing.code == 2);
  CHECK(missing.out.empty());
  CHECK(lines_of(missing.err).size() == 1);
  CHECK(contains(missing.err, "sudo apt-get install graphviz"));
  // A stand-in that shows what it was given.
  std::filesystem::create_directory(desk.path() / "bin");
  desk.write("bin/dot", "#!/bin/sh\necho '<svg>'\nread -r line < \"$2\"\necho \"$line\"\n");
  std::filesystem::permissions(desk.path() / "bin/dot", std::filesystem::perms::owner_all);
  const Outcome drawn = desk.run("graph --model model --format svg --threads 1", without);
  CHECK_MESSAGE(drawn.code == 0, drawn.text());
  CHECK(contains(drawn.out, "<svg>\ndigraph minigpt {"));
}

TEST_CASE("graph: --out writes a file; bad input is answered with one line and exit code 2") {
  const Desk& trained = trained_desk();
  const Desk desk;
  desk.copy_from(trained, "model");
  desk.write("short.txt", "Short.");
  CHECK(desk.run("graph --model model --format dot --out g.dot --threads 1").code == 0);
  CHECK(desk.read("g.dot").starts_with("digraph"));
  const auto refuses = [&](std::string_view line, std::string_view reason) {
    check_refused(desk, line, reason);
  };
  refuses("graph --model model --format jsom",
          "--format: 'jsom' is not one of text | dot | svg | json; did you mean json?");
  refuses("graph --model none", "none");
  refuses("graph --model model --data short.txt", "short.txt");
  refuses("graph --model model --data none.txt", "none.txt");
  refuses("graph --model model --unfold --depth 2", "--unfold and --depth exclude each other");
  refuses("graph --model model --depth x", "--depth: 'x'");
  refuses("graph --model model --batch 0", "--batch: 0 is out of range");
  refuses("graph --model model --out none/g.dot", "none is not a folder");
  refuses("graph", "--model is required");
}

}  // namespace
}  // namespace minigpt::test
