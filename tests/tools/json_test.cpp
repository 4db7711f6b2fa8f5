// --json: what other programs read. Every line is one object with exactly these keys, and nothing else is printed.

#include <nlohmann/json.hpp>

#include "tests/tools/run_command.h"

namespace minigpt::test {
namespace {

using Json = nlohmann::ordered_json;

std::vector<std::string> keys(const Json& object) {
  std::vector<std::string> names;
  for (const auto& [key, value] : object.items()) names.push_back(key);
  return names;
}

using Names = std::vector<std::string>;

TEST_CASE("--json: train prints steps and evaluations, as metrics.jsonl keeps them") {
  const Desk desk;
  desk.write("t.txt", english_text());
  const Outcome run = desk.run("train --data t.txt --out m --steps 20 --eval-every 10 --log-every 1 --json" +
                               std::string(kTiny));
  REQUIRE_MESSAGE(run.code == 0, run.text());
  CHECK(run.out == desk.read("m/metrics.jsonl") + "{\"saved\":20}\n");
  int steps = 0, evaluations = 0;
  for (const std::string& line : lines_of(desk.read("m/metrics.jsonl"))) {
    const Json object = Json::parse(line);
    if (object.contains("loss")) {
      CHECK(keys(object) == Names{"step", "loss", "lr", "grad_norm", "tokens_per_s"});
      CHECK(object["step"] == steps++);
      for (const char* key : {"loss", "lr", "grad_norm", "tokens_per_s"}) CHECK(object[key].is_number());
    } else {
      CHECK(keys(object) == Names{"step", "train_loss", "val_loss"});
      CHECK(object["step"] == 10 * evaluations++);
    }
  }
  CHECK(steps == 20);
  CHECK(evaluations == 3);
}

TEST_CASE("--json: notes go to standard error, and --log-every thins the steps") {
  const Desk desk;
  desk.write("t.txt", english_text());
  const Outcome run = desk.run(
      "train --data t.txt --out m --steps 10 --train-fraction 1 --log-every 5 --json" + std::string(kTiny));
  REQUIRE_MESSAGE(run.code == 0, run.text());
  CHECK(contains(run.err, "note: no validation loss"));
  Names seen;
  for (const std::string& line : lines_of(run.out)) {
    const Json object = Json::parse(line);
    if (object.contains("saved")) continue;
    seen.push_back(object["step"].dump() +
                   (object.contains("loss") ? " loss" : " " + object["val_loss"].dump()));
  }
  CHECK(seen == Names{"0 null", "0 loss", "5 loss", "10 null"});
}

TEST_CASE("--json: eval") {
  const Outcome run = trained_desk().run("eval --model model --data english.txt --json");
  REQUIRE_MESSAGE(run.code == 0, run.text());
  REQUIRE(lines_of(run.out).size() == 1);
  const Json object = Json::parse(run.out);
  CHECK(keys(object) == Names{"loss", "bits_per_character", "perplexity", "characters"});
  CHECK(object["characters"] == 1499);  // every one but the first
  const double loss = object["loss"];
  CHECK(object["bits_per_character"].get<double>() == doctest::Approx(loss / std::log(2.0)));
  CHECK(object["perplexity"].get<double>() == doctest::Approx(std::exp(loss)));
}

TEST_CASE("--json: ngram") {
  const Outcome run = trained_desk().run("ngram --data english.txt --order 3 --json");
  REQUIRE_MESSAGE(run.code == 0, run.text());
  const Json object = Json::parse(run.out);
  CHECK(keys(object) == Names{"uniform", "characters", "orders", "best"});
  REQUIRE(object["orders"].size() == 3);
  for (int order = 1; order <= 3; ++order) {
    const Json& row = object["orders"][static_cast<std::size_t>(order - 1)];
    CHECK(keys(row) == Names{"order", "additive", "additive_constant", "witten_bell"});
    CHECK(row["order"] == order);
  }
  CHECK(trained_desk().run("ngram --data english.txt --order 0").code == 2);
  CHECK(trained_desk().run("ngram --data english.txt --train-fraction 1").code == 2);
}

TEST_CASE("--json: info, about the machine and about a model") {
  const Json machine = Json::parse(trained_desk().run("info --json").out);
  CHECK(keys(machine) == Names{"version", "build_type", "cpu", "avx2_fma", "avx512f", "kernels",
                               "kernels_available", "threads"});
  const Json model = Json::parse(trained_desk().run("info --model model --json").out);
  CHECK(model["n_layer"] == 1);
  CHECK(model["vocabulary"].size() == model["vocab_size"].get<std::size_t>());
  std::int64_t count = 0;
  for (const Json& tensor : model["tensors"]) {
    CHECK(keys(tensor) == Names{"name", "shape", "also"});
    std::int64_t elements = 1;
    for (const Json& extent : tensor["shape"]) elements *= extent.get<std::int64_t>();
    count += elements;
  }
  CHECK(model["parameters"] == count);
}

TEST_CASE("--json: gradcheck") {
  const Outcome run = trained_desk().run("gradcheck --elements 2 --json");
  REQUIRE_MESSAGE(run.code == 0, run.text());
  const Json object = Json::parse(run.out);
  CHECK(keys(object) == Names{"parameters", "ok"});
  CHECK(object["ok"] == true);
  for (const Json& parameter : object["parameters"])
    CHECK(keys(parameter) ==
          Names{"name", "checked", "ok", "worst_element", "analytic", "numeric", "tolerance"});
}

TEST_CASE("--json: sample prints a whole text a line, the same as without") {
  const Desk& desk = trained_desk();
  const std::string sample =
      "sample --model model --prompt a --prompt b --samples 2 --seed 7 --tokens 12 --temperature 1";
  const Outcome run = desk.run(sample + " --json");
  REQUIRE_MESSAGE(run.code == 0, run.text());
  const std::vector<std::string> lines = lines_of(run.out);
  REQUIRE(lines.size() == 4);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const Json object = Json::parse(lines[i]);
    CHECK(keys(object) == Names{"sample", "seed", "prompt", "text"});
    CHECK(object["sample"] == i + 1);
    CHECK(object["seed"] == 7 + i);
    CHECK(object["prompt"] == (i < 2 ? "a" : "b"));
    const std::string plain = desk.run(sample).out;
    CHECK(contains(plain, object["prompt"].get<std::string>() + object["text"].get<std::string>()));
  }
}

TEST_CASE("--json: lesson lists, and does not run") {
  const Desk desk;
  const Outcome run = desk.run("lesson --json");
  REQUIRE(run.code == 0);
  CHECK(lines_of(run.out).size() > 20);
  for (const std::string& line : lines_of(run.out))
    CHECK(keys(Json::parse(line)) == Names{"name", "en", "zh"});
  CHECK(desk.run("lesson tensors --json").code == 2);
}

}  // namespace
}  // namespace minigpt::test
