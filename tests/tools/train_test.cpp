// minigpt train: what a run does when it goes wrong, stops, and goes on.

#include <nlohmann/json.hpp>

#include "tests/tools/checkpoint_bytes.h"
#include "tests/tools/run_command.h"

namespace minigpt::test {
namespace {

using nlohmann::json;

// metrics.jsonl without the speed, which no two runs share.
std::vector<json> history(const Desk& desk, const std::string& model) {
  std::vector<json> lines;
  for (const std::string& line : lines_of(desk.read(model + "/metrics.jsonl"))) {
    lines.push_back(json::parse(line));
    lines.back().erase("tokens_per_s");
  }
  return lines;
}

// state.json without what it says of the logs, which hold the speed.
json state(const Desk& desk, const std::string& model) {
  json all = json::parse(desk.read(model + "/last/state.json"));
  for (const char* key : {"logs", "log_starts"}) all.erase(key);
  all.erase("checksum");
  return all;
}

struct TextDesk : Desk {
  TextDesk() { write("t.txt", english_text()); }
  Outcome train(std::string_view options) const {
    return run("train --data t.txt --schedule constant --lr 0.01" + std::string(kTiny) + " " +
               std::string(options));
  }
};

TEST_CASE("T-01: a loss that is not finite stops the run before it does harm") {
  const TextDesk desk;
  REQUIRE(desk.train("--out m --steps 10").code == 0);
  const std::string best = desk.read("m/model.safetensors");
  desk.write("m/last/model.safetensors",
             with_nan(desk.read("m/last/model.safetensors"), "transformer.wte.weight"));
  desk.write("m/last/state.json",
             state_of_version_1(desk.read("m/last/state.json")));  // which knows no checksums
  const std::string last = desk.read("m/last/model.safetensors");

  const Outcome run = desk.run("train --resume --out m --steps 20");
  CAPTURE(run.text());
  CHECK(run.code == 1);
  CHECK(contains(run.err, "[train] step 10: the loss is nan"));
  CHECK(contains(run.err, "the weights were not updated"));
  CHECK(contains(run.err, "--learning-rate"));
  CHECK(desk.read("m/model.safetensors") == best);       // never replaced by anything with NaN
  CHECK(desk.read("m/last/model.safetensors") == last);  // as it was
}

TEST_CASE("T-01: a learning rate far too high ends with exit code 1 and the weights from before") {
  const TextDesk desk;
  // A decay of 1e9 a step takes any weight out of float32 within a few steps.
  const Outcome run = desk.run(
      "train --data t.txt --out m --steps 40 --eval-every 1 --save-every 1000 --lr 1e6 --weight-decay 1000 "
      "--schedule constant --warmup-steps 0 --grad-clip 0" +
      std::string(kTiny));
  CAPTURE(run.text());
  CHECK(run.code == 1);
  CHECK(contains(run.err, "[train] step "));
  CHECK(contains(run.err, "or --grad-clip 1"));
  CHECK(all_numbers_finite(desk.read("m/model.safetensors")));
  for (const json& line : history(desk, "m"))
    if (line.contains("loss")) CHECK(line["loss"].is_number());  // a NaN would be written as null
}

TEST_CASE("T-01: a run whose last evaluation is not finite has failed, and nothing of it counts as best") {
  const TextDesk desk;
  // Not the default recipe, which normalises even such weights away.
  for (const char* steps : {"2", "3"}) {
    const Outcome run = desk.run(
        "train --preset nanogpt-cpu --data t.txt --out m --overwrite --lr 1e6 --weight-decay 1000 --schedule "
        "constant "
        "--warmup-steps 0 "
        "--grad-clip 0 --steps " +
        std::string(steps) + std::string(kTiny));
    CAPTURE(run.text());
    CHECK(run.code == 1);
    CHECK(contains(run.err, "not finite") != contains(run.err, "the loss is "));
    CHECK_FALSE(desk.has("m/model.safetensors"));
  }
}

TEST_CASE("T-03, T-05: a run resumed three times is the unbroken one, bit for bit") {
  const TextDesk desk;
  const std::string options =
      "--schedule cosine --warmup-steps 5 --lr-decay-steps 40 --dropout 0.1 --eval-every 10 ";
  const auto train = [&](const std::string& more) {
    return desk.run("train --data t.txt --lr 0.01 --min-lr 0.001" + std::string(kTiny) + " " + options +
                    more);
  };
  REQUIRE(train("--out whole --steps 40").code == 0);
  REQUIRE(train("--out parts --steps 10").code == 0);
  for (const char* steps : {"20", "27", "40"}) {
    const Outcome run = desk.run("train --resume --out parts --steps " + std::string(steps));
    REQUIRE_MESSAGE(run.code == 0, run.text());
  }
  CHECK(desk.read("parts/last/model.safetensors") == desk.read("whole/last/model.safetensors"));
  CHECK(desk.read("parts/last/optimizer.safetensors") == desk.read("whole/last/optimizer.safetensors"));
  CHECK(state(desk, "parts") == state(desk, "whole"));  // with the generator and the batch in hand
  CHECK(desk.read("parts/model.safetensors") == desk.read("whole/model.safetensors"));
  CHECK(history(desk, "parts") == history(desk, "whole"));
}

TEST_CASE("T-05: the number of threads changes nothing") {
  const TextDesk desk;
  std::string first;
  for (const char* threads : {"1", "2", "5"}) {
    const std::string out = "m" + std::string(threads);
    const Outcome run = desk.run(
        "train --data t.txt --steps 5 --layers 1 --heads 2 --channels 32 --block 32 --batch 8 --eval-batches "
        "1 --out " +
        out + " --threads " + threads);
    REQUIRE_MESSAGE(run.code == 0, run.text());
    if (first.empty()) first = desk.read(out + "/last/model.safetensors");
    CHECK(desk.read(out + "/last/model.safetensors") == first);
  }
}

TEST_CASE("T-03: a horizon that moves is announced") {
  const TextDesk desk;
  const std::string start = "train --data t.txt --out m --lr-decay-steps 60 --steps 10" + std::string(kTiny);
  REQUIRE(desk.run(start).code == 0);
  const Outcome longer = desk.run("train --resume --out m --steps 70");
  CHECK_MESSAGE(longer.code == 0, longer.text());
  CHECK(contains(longer.out, "note: the learning rate stays at its minimum after step 60"));
  const Outcome moved = desk.run("train --resume --out m --steps 75 --lr-decay-steps 80");
  CHECK_MESSAGE(moved.code == 0, moved.text());
  CHECK(contains(moved.out, "note: the learning rate now reaches its minimum at step 80, not 60"));
  // A fresh run that ends elsewhere than its recipe's schedule says so as well.
  const Outcome fresh = desk.run("train --data t.txt --out n --steps 3" + std::string(kTiny));
  CHECK(contains(fresh.out, "the run ends at step 3, before the learning rate has come down"));
}

TEST_CASE("T-06: a run shorter than the save interval is saved at its end, and says where") {
  const TextDesk desk;
  const Outcome run = desk.train("--out deep/er/m --steps 5 --save-every 1000 --eval-every 1000");
  CHECK_MESSAGE(run.code == 0, run.text());
  CHECK(contains(run.out, "model saved in deep/er/m\n"));
  CHECK(state(desk, "deep/er/m")["step"] == 5);
  CHECK(desk.has("deep/er/m/model.safetensors"));
}

TEST_CASE("T-06: an output folder that cannot be written is refused before step 1") {
  const TextDesk desk;
  desk.write("file", "in the way");
  const Outcome way = desk.train("--out file --steps 5"), below = desk.train("--out file/m --steps 5");
  CHECK_MESSAGE(way.code == 2, way.text());
  CHECK(contains(way.err, "file: exists and is not a directory"));
  CHECK_MESSAGE(below.code == 2, below.text());
  CHECK(contains(below.err, "file/m: can't create the directory"));
  CHECK(way.out.empty());
  CHECK(desk.read("file") == "in the way");

  std::filesystem::create_directory(desk.path() / "locked");
  std::filesystem::permissions(desk.path() / "locked", static_cast<std::filesystem::perms>(0555));
  RunOptions nobody;
  nobody.as_nobody = true;
  const Outcome locked = desk.run("train --data t.txt --out locked --steps 5" + std::string(kTiny), nobody);
  CHECK_MESSAGE(locked.code == 2, locked.text());
  CHECK(contains(locked.err, "locked: can't create a file in it: Permission denied"));
  CHECK(locked.out.empty());
}

TEST_CASE("T-06: a save that fails is a failed run, and the state before it stays") {
  const TextDesk desk;
  REQUIRE(desk.train("--out m --steps 5").code == 0);
  const std::string last = desk.read("m/last/model.safetensors"), best = desk.read("m/model.safetensors");
  RunOptions full;
  full.file_size_limit = 8192;  // config and log fit, weights do not
  const Outcome run = desk.run("train --resume --out m --steps 8", full);
  CAPTURE(run.text());
  CHECK(run.code == 1);
  CHECK(contains(run.err, "can't write: File too large"));
  CHECK(desk.read("m/last/model.safetensors") == last);
  CHECK(desk.read("m/model.safetensors") == best);
  CHECK(desk.run("train --resume --out m --steps 8").code == 0);  // once there is room again
}

TEST_CASE("T-06: output that cannot be written is not a success") {
  RunOptions full;
  full.output_file = "/dev/full";
  for (const char* line :
       {"info", "eval --model model --data english.txt", "sample --model model --tokens 5", "--help"}) {
    const Outcome run = trained_desk().run(line, full);
    CAPTURE(line);
    CHECK(run.code == 1);
    CHECK(contains(run.err, "minigpt: "));
  }
}

TEST_CASE("T-07: the best weights and the newest are two files, and the best loss survives a resume") {
  const TextDesk desk;
  // Letters without any order can only be learnt by heart: the validation loss soon rises.
  std::string noise;
  std::uint32_t x = 1;
  for (int i = 0; i < 300; ++i, x = x * 1664525u + 1013904223u)
    noise += static_cast<char>('a' + (x >> 24) % 8);
  desk.write("t.txt", noise);
  REQUIRE(desk.train("--out m --steps 300 --eval-every 50").code == 0);
  const json before = state(desk, "m");
  REQUIRE(before["best_step"] < 300);
  CHECK(desk.read("m/model.safetensors") != desk.read("m/last/model.safetensors"));
  const std::string best = desk.read("m/model.safetensors");

  const Outcome run = desk.run("train --resume --out m --steps 400");
  REQUIRE_MESSAGE(run.code == 0, run.text());
  CHECK(state(desk, "m")["best_step"] == before["best_step"]);
  CHECK(state(desk, "m")["best_loss"] == before["best_loss"]);
  CHECK(desk.read("m/model.safetensors") == best);
  CHECK(contains(run.out, "best evaluation: "));
  CHECK(contains(run.out, "its weights are what sample and eval use"));

  // Early stopping counts evaluations without a better loss.
  const Outcome early = desk.run("train --resume --out m --steps 1000 --early-stop 3");
  CHECK_MESSAGE(early.code == 0, early.text());
  CHECK(contains(early.out, "stopped early: no better loss in "));
}

TEST_CASE("T-13: sizes, steps and reference values come before the first step") {
  const TextDesk desk;
  const Outcome run = desk.train("--out m --steps 12 --log-every 4");
  const std::vector<std::string> lines = lines_of(run.out);
  CAPTURE(run.text());
  const auto line_with = [&](std::string_view part) {
    for (std::size_t i = 0; i < lines.size(); ++i)
      if (contains(lines[i], part)) return static_cast<int>(i);
    return -1;
  };
  const int first_step = line_with("step      1 of 12");
  CHECK(first_step > 0);
  for (const char* part : {"1350 characters to train on, 150 for validation", "parameters",
                           "run: step 0 to 12", "guessing evenly", "1-gram"}) {
    CHECK(line_with(part) >= 0);
    CHECK(line_with(part) < first_step);
  }
  for (const char* part :
       {"step      4 of 12", "step      5 of 12", "step      8 of 12", "step     12 of 12"})
    CHECK(line_with(part) > first_step);
}

TEST_CASE("train --config: a size of the vocabulary that is not the text's has no effect, and that is said") {
  const Desk desk;
  desk.write("english.txt", english_text());
  desk.write("c.json", "{\"vocab_size\": 7}");
  const std::string line = "train --data english.txt --out m --config c.json --steps 2" + std::string(kTiny);
  const Outcome run = desk.run(line);
  CAPTURE(run.text());
  CHECK(run.code == 0);
  CHECK(contains(run.out, "note: vocab_size 7 in c.json has no effect: the text has "));
  // Not even that of the recipe, or of the run itself, as in a copied config.json.
  std::filesystem::copy_file(desk.path() / "m/config.json", desk.path() / "own.json");
  CHECK_FALSE(contains(desk.run("train --data english.txt --out n --config own.json").out, "vocab_size"));
  check_refused(desk, "train --resume --out m --steps 3 --config c.json", "vocab_size is ");
}

}  // namespace
}  // namespace minigpt::test
