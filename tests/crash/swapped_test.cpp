// Files of two checkpoints mixed up, and settings edited by hand: each file is whole, but they do not belong together.

#include <cstring>
#include <nlohmann/json.hpp>

#include "tests/crash/damage.h"
#include "tests/tools/checkpoint_bytes.h"

namespace minigpt::test {
namespace {

using nlohmann::ordered_json;

// The bench's run with something different.
std::string other_run(const std::string& different, const std::string& steps = "10") {
  return "train --preset names --data names.txt --out m --eval-every 4 --eval-batches 2 --save-every 5 "
         "--threads 1 --watch 2 "
         "--steps " +
         steps + " " + different;
}

TEST_CASE("C-13: a file of another run in the place of the right one is noticed") {
  DamageBench bench;
  std::string text = names_text();
  // The same characters in another order: another text with the same vocabulary. Another one, of the same size: another letter.
  std::string turned(text.rbegin(), text.rend()), renamed = text;
  turned = turned.substr(1) + "\n";
  for (char& c : renamed)
    if (c == 'j') c = 'z';
  const struct {
    std::string what, text, run;
  } others[] = {
      {"another seed", text, other_run("--seed 5")},
      {"other settings", text, other_run("--learning-rate 0.02")},
      {"another shape of the same size", text, other_run("--heads 2")},
      {"another activation", text, other_run("--activation silu")},
      {"another text", turned, other_run("")},
      {"another vocabulary of the same size", renamed, other_run("")},
      {"an earlier step", text, other_run("", "7")},
  };
  for (const auto& other : others) {
    CAPTURE(other.what);
    Desk desk;
    desk.write("names.txt", other.text);
    const Outcome run = desk.run(other.run);
    REQUIRE_MESSAGE(run.code == 0, run.text());
    for (const char* file :
         {"model.safetensors", "last/model.safetensors", "last/optimizer.safetensors", "last/state.json",
          "tokenizer.json", "config.json", "metrics.jsonl", "metrics.csv", "watch.jsonl"}) {
      // Whichever of two files that contradict each other is read first is named.
      const std::string content = desk.read(std::string("m/") + file);
      if (content == bench.content(file)) continue;  // this one does not differ
      // An earlier state of the same run with its own log and weights: only the number of steps differs.
      if (std::string(file) == "config.json" && other.what == "an earlier step") continue;
      bench.try_content(file, content, "m/");
    }
  }
  MESSAGE(bench.counts.tried << " files of other runs: " << bench.counts.refused << " refused, "
                             << bench.counts.recovered << " recovered and said, " << bench.counts.harmless
                             << " without a difference");
}

TEST_CASE("C-13: an edited step, batch, generator, setting or size of the vocabulary is noticed") {
  DamageBench bench;
  const auto edited = [&](const std::string& file, const auto& change) {
    ordered_json json = ordered_json::parse(bench.content(file));
    change(json);
    bench.try_content(file, json.dump(1));
  };
  const std::string state = "last/state.json";
  edited(state, [](auto& j) { j["step"] = 9; });
  edited(state, [](auto& j) { j["batch_offsets"] = {3}; });
  edited(state, [](auto& j) { j["best_loss"] = 0.5; });
  edited(state, [](auto& j) { j["generator"]["words"][100] = 1; });
  edited(state, [](auto& j) { j["text_fingerprint"] = "1-0"; });
  edited(state, [](auto& j) { j["version"] = 1; });
  edited(state, [](auto& j) { j.erase("checksum"); });
  edited("config.json", [](auto& j) { j["vocab_size"] = 20; });
  edited("config.json", [](auto& j) { j["steps"] = 5000; });
  edited("config.json", [](auto& j) { j["learning_rate"] = 0.5; });
  // The checksum taken out as well: what the run was made with is still known from other files.
  edited("config.json", [](auto& j) { j["vocab_size"] = 20, j.erase("checksum"); });
  edited("config.json", [](auto& j) { j["activation"] = "silu", j.erase("checksum"); });
  edited("config.json", [](auto& j) { j["text"] = "1-0", j.erase("checksum"); });
}

TEST_CASE("folders from before there were checksums: read, gone on with, and what can be compared is") {
  NamesDesk desk;
  REQUIRE(desk.run(other_run("")).code == 0);
  // Weights as another program would have written them.
  const auto without_notes = [&](const std::string& file) {
    desk.write(file, CheckpointBytes(desk.read(file)).file());
  };
  for (const char* file : {"m/model.safetensors", "m/last/model.safetensors", "m/last/optimizer.safetensors"})
    without_notes(file);
  ordered_json config = ordered_json::parse(desk.read("m/config.json"));
  config.erase("text");
  config.erase("checksum");
  desk.write("m/config.json", config.dump(2));
  const std::string state = state_of_version_1(desk.read("m/last/state.json"));
  desk.write("m/last/state.json", state);
  const std::string log = desk.read("m/metrics.jsonl");
  check_usable(desk);

  const auto refused = [&](const auto& change, std::string_view reason) {
    ordered_json json = ordered_json::parse(state);
    change(json);
    desk.write("m/last/state.json", json.dump(1));
    const Outcome run = desk.run("train --resume --out m --steps 12 --threads 1");
    CAPTURE(run.text());
    CHECK(refused_in_one_line(run));
    CHECK(contains(run.err, reason));
    desk.write("m/last/state.json", state);
  };
  refused([](auto& j) { j["step"] = 9; }, "state.json");
  refused([](auto& j) { j["batch_offsets"] = {5}; }, "document 5 is in hand, after step 10 it must be 10");
  refused([](auto& j) { j["batch_offsets"] = {10, 11}; }, "the batch in hand has 2 windows, not 1");
  config["vocab_size"] = config["vocab_size"].get<int>() + 1;
  desk.write("m/config.json", config.dump(2));
  CHECK(
      contains(desk.run("train --resume --out m --steps 12 --threads 1").err, "config.json says vocab_size"));
  config["vocab_size"] = config["vocab_size"].get<int>() - 1;
  desk.write("m/config.json", config.dump(2));

  std::string cut;
  for (const std::string& line : lines_of(log))
    if (!contains(line, "\"step\":3,")) cut += line + "\n";
  desk.write("m/metrics.jsonl", cut);
  const Outcome run = desk.run("train --resume --out m --steps 12 --threads 1 --watch 2");
  CAPTURE(run.text());
  REQUIRE(run.code == 0);
  CHECK(contains(run.out, "note: m/metrics.jsonl: the log is not complete; these steps are missing: 3\n"));
  CHECK(ordered_json::parse(desk.read("m/last/state.json"))["version"] == 2);
}

TEST_CASE("C-13: best weights that do not say what run they are of are not taken for those of this one") {
  NamesDesk desk;
  REQUIRE(desk.run(other_run("")).code == 0);
  const std::string good = desk.read("m/model.safetensors");
  const CheckpointBytes own(good);
  CheckpointBytes empty(good), foreign(good);
  empty.header = ordered_json::object();
  empty.data.clear();
  foreign.header.erase("__metadata__");
  for (char& byte : foreign.data) byte = static_cast<char>(byte ^ 1);
  for (const std::string& file : {foreign.file(), empty.file(), own.file()}) {
    desk.write("m/model.safetensors", file);
    const Outcome run = desk.run("train --resume --out m --steps 14 --threads 1");
    CAPTURE(run.text());
    CHECK(refused_in_one_line(run));
    CHECK(contains(run.err, "m/model.safetensors: these are not the weights of step"));
    CHECK(contains(run.err, "put the right file back, or remove it to go on without"));
    CHECK(desk.read("m/model.safetensors") == file);
  }
  desk.write("m/model.safetensors", good);
  CHECK(desk.run("train --resume --out m --steps 14 --threads 1").code == 0);
}

TEST_CASE("C-11: best weights that are missing are missed") {
  NamesDesk desk;
  REQUIRE(desk.run(other_run("")).code == 0);
  std::filesystem::remove(desk.path() / "m/model.safetensors");
  const Outcome run = desk.run("train --resume --out m --steps 14 --threads 1");
  CAPTURE(run.text());
  CHECK(run.code == 0);
  CHECK(contains(run.out, "note: m/model.safetensors is missing: the best weights, of step "));
  CHECK(desk.has("m/model.safetensors"));
}

TEST_CASE(
    "C-07: settings that ask for more memory than the weights ever had are refused before any of it is "
    "taken") {
  NamesDesk desk;
  REQUIRE(desk.run(other_run("")).code == 0);
  ordered_json config = ordered_json::parse(desk.read("m/config.json"));
  config["n_layer"] = 1000;
  config["n_embd"] = 800;
  config["n_head"] = 1;
  config.erase("checksum");
  desk.write("m/config.json", config.dump(2));
  for (const char* line : {"info --model m", "sample --model m", "train --resume --out m --steps 12"}) {
    const Outcome run = desk.run(line);
    CAPTURE(run.text());
    CHECK(refused_in_one_line(run));
    CHECK(contains(run.err, "config.json: describes a model of at least 307"));
  }
}

}  // namespace
}  // namespace minigpt::test
