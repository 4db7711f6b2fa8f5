#include "models/run_logs.h"

#include <doctest/doctest.h>

#include "models/metrics.h"
#include "nn/files.h"
#include "tests/models/tiny_models.h"
#include "tests/nn/temporary_folder.h"

namespace minigpt {
namespace {

using test::Recorder;
using test::TemporaryFolder;

// A folder with the logs of 12 steps and an evaluation at step 3, and the state that was saved after them.
struct Logged {
  TemporaryFolder temporary;
  ModelFolder folder{temporary.path()};
  TrainState state;

  Logged() {
    Recorder next;
    MetricsLog log(temporary / "metrics.jsonl", 0, next);
    for (state.step = 0; state.step < 12; ++state.step) {
      StepReport step;
      step.step = state.step;
      if (state.step == 3) {
        EvalReport evaluation;
        evaluation.step = 3;
        log.on_evaluation(evaluation);
      }
      log.on_step(step);
    }
    log.on_save_start(state);
  }

  std::vector<std::string> lines(const char* name) const {
    std::vector<std::string> all;
    std::string text = read_file(temporary / name);
    for (std::size_t end = 0; (end = text.find('\n')) != text.npos; text.erase(0, end + 1))
      all.push_back(text.substr(0, end));
    return all;
  }
  void write(const char* name, const std::vector<std::string>& all) const {
    std::string text;
    for (const std::string& line : all) text += line + "\n";
    write_file_atomically(temporary / name, std::string_view(text));
  }
  // What is said of one log, without its path; "" if nothing is.
  std::string said_of(const char* name) const {
    for (const LogDamage& d : damaged_logs(folder, state))
      if (d.name == name) return d.text.substr((temporary / name).string().size());
    return "";
  }
};

TEST_CASE("run logs: what is as it was is no damage, nor what was added later") {
  const Logged run;
  CHECK(damaged_logs(run.folder, run.state).empty());
  AppendFile(run.temporary / "metrics.jsonl").append_line("{\"step\": 12}");
  CHECK(damaged_logs(run.folder, run.state).empty());
}

TEST_CASE("run logs: a log that was cut back says so, with the steps that are missing") {
  const Logged run;
  for (const char* name : {"metrics.jsonl", "metrics.csv"}) {
    CAPTURE(name);
    std::vector<std::string> all = run.lines(name);
    const auto expected = run.state.logs.at(name).bytes;
    all.resize(all.size() - 2);
    run.write(name, all);
    CHECK(run.said_of(name) ==
          fmt::format(
              ": the log was cut back: {} bytes present, {} expected; these steps are missing: 10 to 11",
              std::filesystem::file_size(run.temporary / name), expected));
  }
}

TEST_CASE("run logs: lines that are missing or cannot be read are listed, an evaluation stands for no step") {
  const Logged run;
  // Line 4 of the first is the evaluation of step 3, line 5 that step; the table has a header more.
  for (const char* name : {"metrics.jsonl", "metrics.csv"}) {
    CAPTURE(name);
    const std::size_t header = std::string_view(name) == "metrics.csv";
    std::vector<std::string> all = run.lines(name);
    for (const std::size_t step : {10, 8, 6, 5, 3})
      all.erase(all.begin() + static_cast<long>(header + step + 1));
    all[header] = header ? "0;1" : "{\"step\":";
    all.push_back(std::string(1000, ' '));  // as long as it was
    run.write(name, all);
    CHECK(run.said_of(name) ==
          fmt::format(
              ": the log is damaged or was edited (its checksum differs); these steps are missing: 0, 3, 5 "
              "to 6 and 2 more; these lines cannot be read: {}, {}",
              1 + header, 9 + header));
  }
}

TEST_CASE("run logs: a missing log is told, and a state that names no logs asks for the steps alone") {
  Logged run;
  std::filesystem::remove(run.temporary / "metrics.csv");
  CHECK(run.said_of("metrics.csv") == ": the file is missing: what it said of the steps before 12 is lost");
  run.state.logs.clear();
  CHECK(damaged_logs(run.folder, run.state).empty());
  std::vector<std::string> all = run.lines("metrics.jsonl");
  all.erase(all.begin() + 1);
  run.write("metrics.jsonl", all);
  CHECK(run.said_of("metrics.jsonl") == ": the log is not complete; these steps are missing: 1");
  run.state.step = 0;
  CHECK(damaged_logs(run.folder, run.state).empty());
}

TEST_CASE("run logs: what a later run added is cut off, but TensorBoard's files grow on") {
  Logged run;
  const std::string before = read_file(run.temporary / "metrics.jsonl");
  write_file_atomically(run.temporary / "events.x", "first");
  run.state.logs["events.x"] = {5, checksum("first")};
  for (const char* name : {"metrics.jsonl", "metrics.csv", "events.x"})
    write_file_atomically(run.temporary / name, read_file(run.temporary / name) + "12,\n");
  cut_logs(run.folder, run.state);
  CHECK(read_file(run.temporary / "metrics.jsonl") == before);
  CHECK(damaged_logs(run.folder, run.state).empty());
  CHECK(read_file(run.temporary / "events.x") == "first12,\n");
  std::filesystem::remove(run.temporary / "metrics.csv");
  CHECK_NOTHROW(cut_logs(run.folder, run.state));
}

}  // namespace
}  // namespace minigpt
