// The history of a run after damage: inspect and train --resume say what is wrong with it, and a run goes on with lines that
// can be read.

#include <csignal>
#include <nlohmann/json.hpp>

#include "tests/tools/run_command.h"

namespace minigpt::test {
namespace {

using nlohmann::json;

constexpr std::string_view kInspect = "inspect --model model --data english.txt --threads 1 --json";
constexpr std::string_view kResume = "train --resume --out model --steps 24 --threads 1";

struct HistoryDesk : Desk {
  HistoryDesk() {
    copy_from(trained_desk(), "model");
    write("english.txt", english_text());
  }
  void replace(const std::string& file, const std::string& from, const std::string& to) const {
    std::string text = read(file);
    const std::size_t at = text.find(from);
    REQUIRE(at != text.npos);
    write(file, text.replace(at, from.size(), to));
  }
  bool is_whole(const std::string& log) const {
    const std::string text = read(log);
    for (const std::string& line : lines_of(text))
      if (!json::accept(line)) return false;
    return text.ends_with('\n');
  }
};

// How often a step stands in the log.
std::vector<int> steps_in(const Desk& desk) {
  std::vector<int> count(24);
  for (const std::string& line : lines_of(desk.read("model/metrics.jsonl"))) {
    const json object = json::parse(line);
    if (object.contains("loss")) ++count.at(object["step"].get<std::size_t>());
  }
  return count;
}

TEST_CASE(
    "inspect: a history that is damaged or was edited is shown as far as it can be read, and that is said") {
  struct Case {
    const char *from, *to, *said;
    std::size_t left;
  };
  for (const Case& c :
       {Case{"{\"step\":3,", "{\"step\":3,,,", "; these steps are missing: 3; these lines", 19},
        Case{"{\"step\":3,", "{\"step\":-3,", "(its checksum differs); these steps are missing: 3", 19},
        Case{"\"loss\":", "\"loss\":1e999,\"l\":", "these lines cannot be read: 2", 19},
        Case{"\"loss\":", "\"loss\":\"x\",\"l\":", "these lines cannot be read: 2", 19},
        Case{"\"loss\":", "\"loss\":1", "(its checksum differs)\n", 20}}) {
    const HistoryDesk desk;
    desk.replace("model/metrics.jsonl", c.from, c.to);
    const Outcome run = desk.run(kInspect);
    CAPTURE(run.text());
    REQUIRE(run.code == 0);
    CHECK(run.err.starts_with("note: model/metrics.jsonl: the log "));
    CHECK(contains(run.err, c.said));
    CHECK(lines_of(run.err).size() == 1);
    CHECK(json::parse(run.out)["training"]["steps"]["step"].size() == c.left);
  }
}

TEST_CASE("inspect: a log that is missing, another text or without a state to compare it with") {
  const HistoryDesk desk;
  CHECK(desk.run(kInspect).err.empty());
  desk.write("model/watch.jsonl", "to be\nor not\n");
  const Outcome run = desk.run(kInspect);
  CHECK(run.err == "note: model/watch.jsonl: these lines cannot be read: 1 to 2\n");
  CHECK(json::parse(run.out)["watch"].is_null());
  std::filesystem::remove(desk.path() / "model/watch.jsonl");
  desk.write("model/metrics.jsonl", desk.read("model/metrics.jsonl") + "more\n{\"step\":");
  CHECK(desk.run(kInspect).err == "note: model/metrics.jsonl: these lines cannot be read: 23\n");
  std::filesystem::remove(desk.path() / "model/metrics.jsonl");
  CHECK(desk.run(kInspect).err ==
        "note: model/metrics.jsonl: the file is missing: what it said of the steps before 20 is lost\n");
  desk.write("model/last/state.json", "{}");
  const Outcome bad = desk.run(kInspect);
  CHECK(bad.code == 0);
  CHECK(contains(bad.err,
                 "model/last/state.json: not a minigpt state; what the logs should hold is not known\n"));
  std::filesystem::remove_all(desk.path() / "model/last");
  CHECK(desk.run(kInspect).err.empty());
}

TEST_CASE("inspect: a log that cannot be read at all is refused, also in a rehearsal") {
  for (const char* log : {"metrics.jsonl", "watch.jsonl"}) {
    const HistoryDesk desk;
    std::filesystem::remove(desk.path() / "model" / log);
    std::filesystem::create_directory(desk.path() / "model" / log);
    check_refused(desk, kInspect, log + std::string(": is a directory, not a file"));
    check_refused(desk, std::string(kInspect) + " --dry-run", log + std::string(": is a directory"));
  }
}

TEST_CASE("resume: lines of a log that cannot be read are set aside, and the others go on") {
  const HistoryDesk desk;
  desk.replace("model/metrics.jsonl", "{\"step\":3,", std::string("\0\0\0", 3));
  desk.replace("model/metrics.csv", "\n5,", "\n?,");
  const std::string damaged = desk.read("model/metrics.jsonl"), table = desk.read("model/metrics.csv");
  const Outcome run = desk.run(kResume);
  CAPTURE(run.text());
  REQUIRE(run.code == 0);
  CHECK(contains(run.out,
                 "; these steps are missing: 3; these lines cannot be read: 5; it is kept as "
                 "metrics.jsonl.damaged, and the lines that can be read go on\n"));
  CHECK(contains(run.out, "metrics.csv.damaged, and the lines that can be read go on\n"));
  CHECK(desk.read("model/metrics.jsonl.damaged") == damaged);
  CHECK(desk.read("model/metrics.csv.damaged") == table);
  CHECK(desk.is_whole("model/metrics.jsonl"));
  std::vector<int> once(24, 1);
  once[3] = 0;
  CHECK(steps_in(desk) == once);
  CHECK(desk.read("model/metrics.csv").starts_with("step,loss,"));
  CHECK_FALSE(contains(desk.read("model/metrics.csv"), "?"));
  // It is said once; a second damage finds another name.
  CHECK_FALSE(
      contains(desk.run("train --resume --out model --steps 25 --threads 1").out, "note: model/metrics"));
  desk.replace("model/metrics.jsonl", "{\"step\":7,", "{\"step\":7;");
  CHECK(contains(desk.run("train --resume --out model --steps 26 --threads 1").out,
                 "it is kept as metrics.jsonl.damaged-2, and"));
  // A new run in the place of this one leaves nothing of it.
  REQUIRE(desk.run("train --data english.txt --overwrite --out model --steps 2" + std::string(kTiny)).code ==
          0);
  CHECK_FALSE(desk.has("model/metrics.jsonl.damaged"));
  CHECK_FALSE(desk.has("model/metrics.jsonl.damaged-2"));
}

TEST_CASE("resume: the log of another run does not become this one's history") {
  const HistoryDesk desk;
  const std::string other = "train --data english.txt --out other --seed 3 --steps 20" + std::string(kTiny);
  REQUIRE(desk.run(other).code == 0);
  const std::string foreign = desk.read("other/metrics.jsonl");
  desk.write("model/metrics.jsonl", foreign);
  const Outcome run = desk.run(kResume);
  CAPTURE(run.text());
  REQUIRE(run.code == 0);
  CHECK(
      contains(run.out,
               "; its best evaluation is not that of this run; it is kept as metrics.jsonl.damaged, and the "
               "log begins anew at step 20\n"));
  CHECK(desk.read("model/metrics.jsonl.damaged") == foreign);
  std::vector<int> expected(24, 0);
  for (std::size_t step = 20; step < 24; ++step) expected[step] = 1;
  CHECK(steps_in(desk) == expected);
}

TEST_CASE("resume: a run that went on and was killed before its first save has damaged nothing") {
  const HistoryDesk desk;
  // What such a run leaves: the evaluation of the end is dropped, and steps follow.
  for (const char* log : {"model/metrics.jsonl", "model/metrics.csv"}) {
    std::string text = desk.read(log);
    text.resize(text.rfind('\n', text.size() - 2) + 1);
    desk.write(log, text + (contains(log, ".csv") ? "20,1,1,1,1,,\n" : "{\"step\":20,\"loss\":1}\n"));
  }
  CHECK(desk.run(kInspect).err.empty());
  const Outcome run = desk.run(kResume);
  CAPTURE(run.text());
  CHECK(run.code == 0);
  CHECK_FALSE(contains(run.out, "note: model/metrics"));
  CHECK(steps_in(desk) == std::vector<int>(24, 1));
}

}  // namespace
}  // namespace minigpt::test
