// What a run writes for other programs to read: metrics.csv, watch.jsonl, event files.

#include <nlohmann/json.hpp>

#include "tests/tools/run_command.h"

namespace minigpt::test {
namespace {

constexpr const char* kSmallest =
    " --layers 1 --heads 2 --channels 8 --block 8 --batch 2 --eval-batches 1 --eval-every 4 --warmup-steps 0";

std::vector<std::string> event_files(const Desk& desk) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(desk.path() / "m"))
    if (entry.path().filename().string().starts_with("events.out.tfevents."))
      names.push_back(entry.path().filename().string());
  return names;
}

std::int64_t count(const std::string& text, char c) { return std::count(text.begin(), text.end(), c); }

TEST_CASE("train: metrics.csv, watch.jsonl and event files grow with a run, and go when it is replaced") {
  const Desk desk;
  desk.write("t.txt", english_text());
  const std::string train = "train --data t.txt --out m --seed 1" + std::string(kSmallest);
  REQUIRE(desk.run(train + " --steps 6 --watch 2 --tensorboard").code == 0);
  // A header, 6 steps, and evaluations at 0, 4 and 6.
  CHECK(count(desk.read("m/metrics.csv"), '\n') == 1 + 6 + 3);
  CHECK(count(desk.read("m/watch.jsonl"), '\n') == 3);
  CHECK(event_files(desk).size() == 1);

  REQUIRE(desk.run("train --resume --out m --steps 10 --watch 2").code == 0);
  // The evaluation at 6 was of the end of the run, not of its schedule: it is forgotten, as in metrics.jsonl.
  CHECK(count(desk.read("m/metrics.csv"), '\n') == count(desk.read("m/metrics.jsonl"), '\n') + 1);
  CHECK(count(desk.read("m/watch.jsonl"), '\n') == 5);

  REQUIRE(desk.run(train + " --steps 2 --overwrite").code == 0);
  CHECK(count(desk.read("m/metrics.csv"), '\n') == 1 + 2 + 2);
  CHECK_FALSE(std::filesystem::exists(desk.path() / "m/watch.jsonl"));
  CHECK(event_files(desk).empty());
}

TEST_CASE("train --watch: does not change a bit of the weights, and refuses what is no number of steps") {
  const Desk desk;
  desk.write("t.txt", english_text());
  const std::string train = "train --data t.txt --steps 5 --seed 1" + std::string(kSmallest);
  REQUIRE(desk.run(train + " --out m").code == 0);
  REQUIRE(desk.run(train + " --out n --watch 1").code == 0);
  CHECK(desk.read("m/last/model.safetensors") == desk.read("n/last/model.safetensors"));
  CHECK(desk.read("m/last/optimizer.safetensors") == desk.read("n/last/optimizer.safetensors"));
  const Outcome wrong = desk.run(train + " --out o --watch -1");
  CHECK(wrong.code == 2);
  CHECK(contains(wrong.err, "--watch"));
}

}  // namespace
}  // namespace minigpt::test
