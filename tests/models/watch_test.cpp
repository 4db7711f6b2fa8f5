#include "models/watch.h"

#include <doctest/doctest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "models/layer_probe.h"
#include "models/statistics.h"
#include "nn/files.h"
#include "tensor/views.h"
#include "tests/models/tiny_models.h"
#include "tests/nn/temporary_folder.h"

namespace minigpt {
namespace {

using nlohmann::json;
using test::Recorder;
using test::TemporaryFolder;
using test::tiny_run;
using test::TinyData;
using test::weights_of;

std::vector<json> lines_of(const std::filesystem::path& path) {
  std::istringstream text(read_file(path));
  std::vector<json> lines;
  for (std::string line; std::getline(text, line);) lines.push_back(json::parse(line));
  return lines;
}

TEST_CASE("watch: training goes on bit for bit, and every due step has its line") {
  const TemporaryFolder folder;
  const TrainConfig config = tiny_run();
  const TinyData tiny(config);
  Recorder seen, again;
  Trainer plain(config, tiny.tokenizer, tiny.data), watched(config, tiny.tokenizer, tiny.data);
  plain.run(nullptr, seen);
  Watch watch(folder.path() / "watch.jsonl", 5, 0);
  watched.set_watcher(&watch);
  watched.run(nullptr, again);
  CHECK(weights_of(plain.model()) == weights_of(watched.model()));

  const std::vector<json> lines = lines_of(folder.path() / "watch.jsonl");
  REQUIRE(lines.size() == 4);  // steps 0, 5, 10, 15 of 20
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const json& line = lines[i];
    CHECK(line["step"] == 5 * i);
    CHECK(line["grad_norm"] == seen.steps[5 * i].grad_norm);
    // The norm of all gradients is made of the norms of each.
    double squares = 0;
    for (const json& p : line["parameters"]) {
      squares += std::pow(p["grad"]["norm"].get<double>(), 2);
      std::int64_t counted = 0;
      for (const json& n : p["grad"]["hist"]) counted += n.get<std::int64_t>();
      CHECK(counted > 0);
      CHECK(p["update_ratio"].is_null() == (p["weight"]["norm"] == 0));
    }
    CHECK(std::sqrt(squares) == doctest::Approx(line["grad_norm"].get<double>()));
    CHECK(line["parameters"].size() == watched.model().parameters().size());
    CHECK(line["layers"].size() == 2);
    CHECK(line["layers"][0]["entropy"].size() == 2);
  }
}

TEST_CASE(
    "watch: a record holds the weights before the update, the clipping, and two sequences of the batch") {
  const TemporaryFolder folder;
  GptConfig config = test::tiny_config();
  Generator rng(1);
  Gpt gpt(config, rng);
  const std::vector<NamedParameter> parameters = gpt.parameters();
  const Tensor inputs = test::tokens_for(config, 3, 4);
  gpt.loss(inputs, inputs).backward();
  const UpdateView view{7, gpt, parameters, inputs, 2.5, 0.4};
  Watch watch(folder.path() / "watch.jsonl", 1, 0);
  watch.before_update(view);
  const double before = statistics(parameters[0].variable.value()).norm;
  for (NamedParameter p : parameters) p.variable.mutable_value().fill_(0.5);
  watch.after_update(view);
  const std::vector<json> lines = lines_of(folder.path() / "watch.jsonl");
  REQUIRE(lines.size() == 1);
  CHECK(lines[0]["clip"] == 0.4);
  CHECK(lines[0]["grad_norm"] == 2.5);
  CHECK(lines[0]["parameters"][0]["weight"]["norm"] == before);
  const std::vector<LayerReport> expected = probe_layers(gpt, slice(inputs, 0, 0, 2));
  for (std::size_t layer = 0; layer < 2; ++layer) {
    CHECK(lines[0]["layers"][layer]["residual"] == expected[layer].residual);
    CHECK(lines[0]["layers"][layer]["branch"] == expected[layer].branch);
  }
  for (NamedParameter p : parameters) init::normal_(p.variable, 0, 0.5, rng);
  watch.before_update(view);
  watch.after_update(view);
  CHECK(lines_of(folder.path() / "watch.jsonl")[1]["layers"][0]["residual"] ==
        probe_layers(gpt, slice(inputs, 0, 0, 2))[0].residual);
}

TEST_CASE("watch: a resumed run forgets what came after the step it goes on from") {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder.path() / "watch.jsonl";
  const TrainConfig config = tiny_run();
  const TinyData tiny(config);
  Recorder seen;
  {
    Trainer trainer(config, tiny.tokenizer, tiny.data);
    Watch watch(path, 1, 0);
    trainer.set_watcher(&watch);
    trainer.run(nullptr, seen);
    CHECK(lines_of(path).size() == 20);
  }
  Watch watch(path, 1, 7);
  CHECK(lines_of(path).size() == 7);
  CHECK_THROWS_AS(Watch(path, 0, 0), Error);
}

}  // namespace
}  // namespace minigpt
