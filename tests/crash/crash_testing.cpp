#include "tests/crash/crash_testing.h"

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

namespace minigpt::test {

using nlohmann::json;

bool long_form() {
  static const bool on = std::getenv("MINIGPT_LONG_TESTS") != nullptr;
  return on;
}

std::int64_t number_option(const std::string& name, std::int64_t otherwise) {
  // doctest keeps the command line to itself; the system has another copy of it.
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  const std::string all{std::istreambuf_iterator<char>(file), {}};
  std::string before;
  for (std::size_t i = 0; i < all.size();) {
    const std::size_t end = std::min(all.find('\0', i), all.size());
    std::string word = all.substr(i, end - i);
    if (before == name) return std::stoll(word);
    before = std::move(word);
    i = end + 1;
  }
  return otherwise;
}

std::mt19937_64& crash_random() {
  static std::mt19937_64 random = [] {
    const std::int64_t from_clock = std::chrono::system_clock::now().time_since_epoch().count() % 1000000;
    const std::int64_t seed = number_option("--crash-seed", from_clock);
    MESSAGE("random moments from --crash-seed " << seed);
    return std::mt19937_64(static_cast<std::uint64_t>(seed));
  }();
  return random;
}

std::int64_t random_between(std::int64_t low, std::int64_t high) {
  return std::uniform_int_distribution<std::int64_t>(low, high)(crash_random());
}

std::string names_text() {
  const char* starts[] = {"an", "ber", "cla", "do", "el", "fre", "gus", "hil", "in", "jo"};
  const char* ends[] = {"na", "ta", "rian", "lf", "a", "mer"};
  std::string text;
  for (const char* start : starts)
    for (const char* end : ends) text += std::string(start) + end + "\n";
  return text;
}

namespace {

std::string settings(std::int64_t steps, std::int64_t save_every) {
  return " --steps " + std::to_string(steps) + " --save-every " + std::to_string(save_every) +
         " --watch 1 --log-every 1 --threads 1 --json";
}

}  // namespace

std::string names_run(std::int64_t steps, std::int64_t save_every) {
  return "train --preset names --data names.txt --out m --eval-every 7 --eval-batches 2" +
         settings(steps, save_every);
}

std::string names_resume(std::int64_t steps, std::int64_t save_every) {
  return "train --resume --out m" + settings(steps, save_every);
}

std::int64_t saved_step(const Desk& desk, const std::string& folder) {
  const std::string file = folder + "/last/state.json";
  if (!desk.has(file)) return -1;
  const json state = json::parse(desk.read(file), nullptr, false);
  REQUIRE_MESSAGE(state.is_object(), file << " is not JSON");
  return state["step"].get<std::int64_t>();
}

std::int64_t reported_step(const std::string& json_output) {
  std::int64_t step = -1;
  for (const std::string& text : lines_of(json_output)) {
    const json line = json::parse(text, nullptr, false);  // the last line may be torn
    if (line.is_object() && line.contains("saved")) step = line["saved"].get<std::int64_t>();
  }
  return step;
}

bool refused_in_one_line(const Outcome& run) {
  return (run.code == 1 || run.code == 2) && lines_of(run.err).size() == 1 &&
         run.err.starts_with("minigpt: ");
}

void check_usable(const Desk& desk, const std::string& folder) {
  for (const std::string& line :
       {"info --model " + folder, "sample --model " + folder + " --tokens 4 --seed 1 --threads 1"}) {
    const Outcome run = desk.run(line);
    CAPTURE(line);
    CAPTURE(run.text());
    if (desk.has(folder + "/last/state.json"))
      CHECK(run.code == 0);
    else
      CHECK((run.code == 0 || refused_in_one_line(run)));
  }
}

void check_complete(const Desk& desk, std::int64_t steps, const std::string& folder) {
  for (const char* name : {"metrics.jsonl", "watch.jsonl", "metrics.csv"}) {
    CAPTURE(name);
    std::int64_t expected = 0;
    std::set<std::int64_t> evaluations;
    for (const std::string& text : lines_of(desk.read(folder + "/" + name))) {
      if (text.starts_with("step,")) continue;
      std::int64_t step = 0;
      bool evaluation = false;
      if (std::string(name) == "metrics.csv") {
        step = std::stoll(text);
        evaluation = contains(text, ",,,,,");
      } else {
        const json line = json::parse(text, nullptr, false);
        REQUIRE_MESSAGE(line.is_object(), text);
        step = line["step"].get<std::int64_t>();
        evaluation = line.contains("train_loss");
      }
      if (evaluation) {
        if (!evaluations.insert(step).second) FAIL_CHECK("two evaluations at step " << step);
        continue;
      }
      if (step != expected) FAIL_CHECK("step " << step << " stands where " << expected << " should");
      expected = step + 1;
    }
    CHECK(expected == steps);
  }
  for (const std::string& place : {std::string("."), folder, folder + "/last"})
    for (const auto& entry : std::filesystem::directory_iterator(desk.path() / place))
      CHECK_FALSE_MESSAGE(entry.path().filename().string().starts_with("."), entry.path().string());
}

}  // namespace minigpt::test
