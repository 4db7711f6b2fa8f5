// Where models go, and where they come from: new folders, old ones, other models, lists of names.

#include <nlohmann/json.hpp>
#include <set>

#include "tests/tools/checkpoint_bytes.h"
#include "tests/tools/run_command.h"

namespace minigpt::test {
namespace {

using nlohmann::json;

TEST_CASE("T-07: a second run into the same folder needs --overwrite or --resume") {
  const Desk desk;
  desk.write("t.txt", english_text());
  const std::string train = "train --data t.txt --out m --steps 4" + std::string(kTiny);
  REQUIRE(desk.run(train).code == 0);
  const std::string before = desk.read("m/model.safetensors");

  const Outcome again = desk.run(train + " --seed 2");
  CHECK(again.code == 2);
  CHECK(contains(
      again.err,
      "m already holds a model; go on with --resume, replace it with --overwrite, or choose another --out"));
  CHECK(desk.read("m/model.safetensors") == before);

  const Outcome done = desk.run("train --out m --resume");
  CHECK_MESSAGE(done.code == 0, done.text());
  CHECK(contains(done.out, "nothing to do: 4 steps made already; ask for more with --steps"));
  CHECK(desk.read("m/model.safetensors") == before);

  desk.write("m/notes.txt", "mine");
  const Outcome replaced = desk.run(train + " --seed 2 --overwrite");
  CHECK_MESSAGE(replaced.code == 0, replaced.text());
  CHECK(desk.read("m/model.safetensors") != before);
  CHECK(desk.read("m/notes.txt") == "mine");  // only what belongs to a model is replaced
  CHECK(lines_of(desk.read("m/metrics.jsonl")).size() == 6);
}

TEST_CASE("T-05: the run remembers its text, also when it is resumed more than once") {
  const Desk desk;
  desk.copy_from(trained_desk(), "model");
  desk.write("english.txt", english_text());
  for (const char* steps : {"22", "24", "26"}) {
    const Outcome run = desk.run("train --resume --out model --steps " + std::string(steps));
    CHECK_MESSAGE(run.code == 0, run.text());
  }
}

TEST_CASE("T-05: going on with another kernel set is possible, and said") {
  const Desk desk;
  desk.copy_from(trained_desk(), "model");
  desk.write("english.txt", english_text());
  json state = json::parse(state_of_version_1(desk.read("model/last/state.json")));
  state["kernel_set"] = "abacus";
  desk.write("model/last/state.json", state.dump());
  const Outcome run = desk.run("train --resume --out model --steps 22");
  CHECK_MESSAGE(run.code == 0, run.text());
  CHECK(contains(run.out, "note: the run was made with abacus kernels and goes on with "));
  CHECK(contains(run.out, "results agree within rounding, not bit for bit"));
}

TEST_CASE("fine-tuning: --init-from takes shape, vocabulary and weights of another model") {
  const Desk desk;
  desk.copy_from(trained_desk(), "model");
  desk.write("other.txt", english_text().substr(700) + english_text());
  const Outcome run =
      desk.run("train --init-from model --data other.txt --out tuned --steps 2 --eval-batches 1");
  CHECK_MESSAGE(run.code == 0, run.text());
  CHECK(desk.read("tuned/tokenizer.json") == desk.read("model/tokenizer.json"));
  const json config = json::parse(desk.read("tuned/config.json"));
  CHECK(config["n_layer"] == 1);
  CHECK(config["n_embd"] == 16);
  // It starts where the other one ended: far below ln V, the loss of fresh weights.
  const json first = json::parse(lines_of(desk.read("tuned/metrics.jsonl"))[0]);
  CHECK(first["train_loss"].get<double>() < std::log(config["vocab_size"].get<double>()) - 0.3);

  const Outcome shape = desk.run("train --init-from model --data other.txt --out no --layers 4");
  CHECK(shape.code == 2);
  CHECK(contains(shape.err, "n_layer is 1 in model, not 4"));
  desk.write("other.txt", english_text() + "\u00e9");
  const Outcome letters = desk.run("train --init-from model --data other.txt --out no");
  CHECK(letters.code == 2);
  CHECK(contains(letters.err, "character '\u00e9' (U+00E9) at position 1500"));
  CHECK_FALSE(desk.has("no"));
}

TEST_CASE("names: one line a step, and samples that end where a name ends") {
  const Desk desk;
  std::string names;
  for (int i = 0; i < 10; ++i) names += "anna\nbert\ncleo\ndora\nemil\n";
  desk.write("names.txt", names);
  const Outcome run = desk.run("train --preset names --data names.txt --out m --steps 300 --eval-batches 2");
  CAPTURE(run.text());
  REQUIRE(run.code == 0);
  CHECK(contains(run.out, "vocabulary 13"));  // 12 letters and the end of a name
  const Outcome sample = desk.run("sample --model m --samples 30 --seed 1 --temperature 0.5");
  CHECK(contains(sample.err, "starting from <doc>"));
  std::set<std::string> seen;
  for (const std::string& line : lines_of(sample.out))
    if (!line.empty() && !line.starts_with("---")) seen.insert(line);
  CHECK(seen.contains("anna"));
  for (const std::string& name : seen) CHECK(name.size() < 16);
  CHECK(desk.run("sample --model m --prompt an --tokens 0").out == "an\n");
  CHECK(desk.run("eval --model m --data names.txt").code == 0);
  CHECK(desk.run("train --resume --out m --steps 310").code == 0);
}

TEST_CASE("train: without --data, the built-in text is the program's own source") {
  const Desk desk;
  const Outcome run = desk.run("train --out m --steps 1" + std::string(kTiny));
  CHECK_MESSAGE(run.code == 0, run.text());
  CHECK(contains(run.out, "text: minigpt's own source code, "));
  CHECK(desk.run("train --out m --resume --steps 2").code == 0);
}

}  // namespace
}  // namespace minigpt::test
