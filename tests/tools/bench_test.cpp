// minigpt bench: what it prints, on sizes too small to say anything about speed.

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "tensor/recycling.h"
#include "tests/tools/run_command.h"

namespace minigpt::test {
namespace {

using Json = nlohmann::ordered_json;

Outcome bench(const std::string& line) {
  const Desk desk;
  desk.write("t.txt", english_text());
  const Outcome run = desk.run("bench " + line);
  CHECK_MESSAGE(run.code == 0, run.text());
  return run;
}

std::vector<Json> json_lines(const Outcome& run) {
  std::vector<Json> list;
  for (const std::string& line : lines_of(run.out)) list.push_back(Json::parse(line));
  return list;
}

std::vector<std::string> keys(const Json& object) {
  std::vector<std::string> names;
  for (const auto& item : object.items()) names.push_back(item.key());
  return names;
}

constexpr const char* kQuickMatmul =
    "matmul --shapes 16x8x4,5x6x7 --layouts NN,TN --threads 1,2 --rounds 1 --slice 0.1";

TEST_CASE("bench matmul: one JSON object per product, layout and number of threads") {
  const std::vector<Json> lines =
      json_lines(bench(std::string(kQuickMatmul) + " --libraries minigpt --json"));
  REQUIRE(lines.size() == 8);
  for (const Json& line : lines) {
    CHECK(keys(line) ==
          std::vector<std::string>{"m", "n", "k", "layout", "threads", "dtype", "peak_gflops", "gflops"});
    CHECK(line["dtype"] == "f32");
    CHECK(line["peak_gflops"].get<double>() > 0);
    CHECK(keys(line["gflops"]) == std::vector<std::string>{"minigpt"});
    CHECK(line["gflops"]["minigpt"].get<double>() > 0);
  }
  CHECK(lines[1]["layout"] == "TN");
  CHECK(lines[2]["m"] == 5);
  CHECK(lines[2]["n"] == 6);
  CHECK(lines[2]["k"] == 7);
  CHECK(lines[3]["threads"] == 1);
  CHECK(lines[4]["threads"] == 2);
}

TEST_CASE("bench matmul: works with whatever libraries are there, or none") {
  const std::vector<Json> lines =
      json_lines(bench("matmul --shapes 16x8x4 --threads 1 --rounds 1 --slice 0.1 --json"));
  REQUIRE(lines.size() == 3);
  for (const Json& line : lines)
    for (const std::string& name : keys(line["gflops"])) {
      CAPTURE(name);
      CHECK(line["gflops"][name].get<double>() > 0);
    }
  const Outcome alone =
      bench("matmul --shapes 16x8x4 --threads 1 --rounds 1 --slice 0.1 --libraries mkl,minigpt");
  CHECK(contains(alone.out, "16x8x4"));
  CHECK(contains(alone.out, "minigpt / peak"));
}

TEST_CASE("bench ops: forward and with the backward pass; small ones in nanoseconds") {
  const std::vector<Json> lines =
      json_lines(bench("ops --shape 2x4x12 --heads 2 --slice 0.1 --vocabulary 5 --threads 1 --json"));
  std::vector<std::string> large, small;
  for (const Json& line : lines) {
    if (line.contains("small_op")) {
      small.push_back(line["small_op"]);
      CHECK(line["ns"].get<double>() > 0);
      continue;
    }
    large.push_back(line["op"]);
    CHECK(line["forward_us"].get<double>() > 0);
    CHECK((line["unit"] == "GB/s" || line["unit"] == "GFLOP/s"));
  }
  for (const char* op : {"add", "mul", "gelu", "exp", "softmax", "layer_norm", "rms_norm", "cross_entropy",
                         "dropout", "causal_attention", "embedding", "linear_up", "adamw"})
    CHECK_MESSAGE(std::find(large.begin(), large.end(), op) != large.end(), op);
  CHECK(small.size() >= 5);
  const Outcome one = bench("ops --only gelu_t --slice 0.1 --shape 1x2x6");
  CHECK(contains(one.out, "gelu_tanh"));
  CHECK_FALSE(contains(one.out, "softmax"));
}

TEST_CASE("bench train: a step in numbers, and by operation") {
  const std::vector<Json> lines =
      json_lines(bench("train --preset names --data t.txt --steps 2 --threads 1 --profile --json"));
  REQUIRE(lines.size() == 1);
  CHECK(keys(lines[0]) == std::vector<std::string>{"preset", "dtype", "threads", "ms_per_step",
                                                   "tokens_per_s", "gflops", "share_of_peak", "peak_mb",
                                                   "profile"});
  CHECK(lines[0]["preset"] == "names");
  CHECK(lines[0]["threads"] == 1);
  for (const char* key : {"ms_per_step", "tokens_per_s", "gflops", "share_of_peak", "peak_mb"})
    CHECK_MESSAGE(lines[0][key].get<double>() > 0, key);
  std::map<std::string, Json> profile;
  for (const Json& row : lines[0]["profile"]) profile[row["op"]] = row;
  CHECK(profile.at("mlp")["calls"] == 1);     // of the one block
  CHECK(profile.at("linear")["calls"] == 2);  // the end of attention, and the read-out
  CHECK(profile.at("rms_norm_linear")["calls"] == 1);
  CHECK(profile.at("mlp")["backward_ms"].get<double>() > 0);
  CHECK(profile.count("optimizer") == 1);

  const Outcome text = bench("train --preset names --data t.txt --steps 1 --threads 1 --profile");
  for (const char* part :
       {"ms a step", "tokens/s", "of the multiply-add peak", "MB at most", "backward ms", "linear"})
    CHECK_MESSAGE(contains(text.out, part), part);
}

TEST_CASE("bench sample: tokens per second of every way of writing") {
  const std::vector<Json> lines =
      json_lines(bench("sample --preset names --slice 1 --batches 1,2 --threads 1 --json"));
  REQUIRE(lines.size() == 1);
  CHECK(lines[0]["context"] == 16);
  for (const char* key : {"within_context", "beyond_context", "prompt"})
    CHECK_MESSAGE(lines[0][key].get<double>() > 0, key);
  CHECK(lines[0]["at_once"].size() == 2);
  CHECK(lines[0]["at_once"][1]["texts"] == 2);
  CHECK(contains(bench("sample --preset names --slice 1 --threads 1").out, "within the context"));
}

TEST_CASE("bench memory: four bytes per parameter, again for its gradient, and eight for AdamW") {
  const std::vector<Json> lines =
      json_lines(bench("memory --preset names --vocabulary 27 --threads 1 --json"));
  REQUIRE(lines.size() == 1);
  // 4,192 parameters; every block is rounded up to a size class, and the optimiser counts its steps.
  CHECK(lines[0]["parameters_bytes"].get<int>() >= 4 * 4192);
  CHECK(lines[0]["gradients_bytes"].get<int>() >= 4 * 4192);
  CHECK(lines[0]["optimizer_bytes"].get<int>() >= 8 * 4192);
  CHECK(lines[0]["activations_bytes"].get<int>() > 0);
  CHECK(lines[0]["peak_tensor_bytes"] >= lines[0]["activations_bytes"]);
  if (kRecycle) CHECK(lines[0]["system_allocations_per_step"] == 0);
  CHECK(contains(bench("memory --preset names --threads 1").out, "activations, kept for the backward pass"));
}

TEST_CASE("bench: bad arguments are refused in one line") {
  const Desk desk;
  const struct {
    const char* options;
    const char* reason;
  } cases[] = {
      {"", "needs the name of a benchmark: matmul, ops, train, sample, memory"},
      {"matmull", "no command 'matmull' for bench; did you mean matmul?"},
      {"matmul --shape 3x4x5", "no option '--shape' for bench matmul; did you mean --shapes?"},
      {"matmul more", "no argument 'more' for bench matmul"},
      {"matmul --shapes 3x4", "--shapes: '3x4' is not of the form MxNxK"},
      {"matmul --shapes 3x4x0", "--shapes: 0 is out of range"},
      {"matmul --shapes 1e6x1e6x1", "more than 2^31"},
      {"matmul --layouts NN,TX", "--layouts: 'TX' is not one of NN, NT, TN"},
      {"matmul --threads 1,0", "--threads: 0 is out of range (1 to 1024)"},
      {"matmul --libraries atlas", "--libraries: 'atlas' is not one of minigpt, openblas"},
      {"matmul --rounds 0", "--rounds: 0 is out of range (1 to 1000)"},
      {"ops --shape 3x4x5 --heads 2", "--heads: 2 does not divide 5 channels"},
      {"train --preset quik", "there is no preset 'quik'"},
      {"train --dtype f16", "--dtype: 'f16' is not one of f32"},
      {"train --data missing.txt", "missing.txt"},
      {"sample --batches 1,x", "--batches: 'x' is not a whole number"},
      {"memory --vocabulary 0", "--vocabulary: 0 is out of range"},
  };
  for (const auto& c : cases) {
    const Outcome run = desk.run("bench " + std::string(c.options));
    CAPTURE(c.options);
    CAPTURE(run.text());
    CHECK(run.code == 2);
    CHECK(run.out.empty());
    CHECK(lines_of(run.err).size() == 1);
    CHECK(contains(run.err, c.reason));
  }
}

TEST_CASE("bench: --help shows ranges and defaults, and hides what is internal") {
  const Desk desk;
  CHECK_FALSE(contains(desk.run("bench --help").out, "worker"));
  const std::string help = desk.run("bench matmul --help").out;
  for (const char* part : {"--rounds INT=5", "(1 to 1000)", "--layouts LIST=NN,NT,TN", "--json"})
    CHECK_MESSAGE(contains(help, part), part);
}

}  // namespace
}  // namespace minigpt::test
