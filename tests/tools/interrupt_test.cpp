// Ctrl-C, and worse, in the middle of a run.

#include <nlohmann/json.hpp>

#include "tests/tools/run_command.h"

namespace minigpt::test {
namespace {

using nlohmann::json;

struct TextDesk : Desk {
  TextDesk() { write("t.txt", english_text()); }
};

// More steps than anybody waits for.
const std::string kEndless =
    "train --data t.txt --out m --steps 100000000 --log-every 20 --eval-every 1000000" + std::string(kTiny);

TEST_CASE("T-06: Ctrl-C stops after the step, saves, says where, and ends with 130") {
  for (const int signal : {SIGINT, SIGTERM}) {
    const TextDesk desk;
    RunningCommand command(words_of(kEndless + " --save-every 1000000"), desk.path());
    REQUIRE(command.wait_for("step     40 of"));
    command.send(signal);
    const Outcome run = command.wait();
    CAPTURE(run.err);
    CHECK(run.code == 130);
    CHECK(contains(run.err, "stopping after this step and saving; press Ctrl-C again to end at once"));
    const json state = json::parse(desk.read("m/last/state.json"));
    const std::string step = state["step"].dump();
    CHECK(state["step"] >= 40);
    CHECK(contains(run.out, "stopped at step " + step + ", saved in m; go on with --resume"));
    // The log ends where the state does.
    const std::vector<std::string> log = lines_of(desk.read("m/metrics.jsonl"));
    CHECK(json::parse(log.back())["step"] == state["step"].get<std::int64_t>() - 1);
    CHECK(desk.run("sample --model m --tokens 3").code ==
          0);  // with the last weights, as there are no best ones yet
    const std::int64_t more = state["step"].get<std::int64_t>() + 2;
    const Outcome resumed = desk.run("train --resume --out m --steps " + std::to_string(more));
    CHECK_MESSAGE(resumed.code == 0, resumed.text());
    CHECK(contains(resumed.out, "run: step " + step + " to " + std::to_string(more)));
  }
}

TEST_CASE("T-06: a run that was interrupted and resumed is the unbroken one") {
  const TextDesk desk;
  RunningCommand command(words_of(kEndless + " --dropout 0.2"), desk.path());
  REQUIRE(command.wait_for("step     20 of"));
  command.send(SIGINT);
  REQUIRE(command.wait().code == 130);
  const auto stopped = json::parse(desk.read("m/last/state.json"))["step"].get<std::int64_t>();
  const std::string steps = std::to_string(stopped + 20);
  REQUIRE(desk.run("train --resume --out m --steps " + steps).code == 0);
  REQUIRE(desk.run("train --data t.txt --out whole --dropout 0.2 --eval-every 1000000 --steps " + steps +
                   std::string(kTiny))
              .code == 0);
  CHECK(desk.read("m/last/model.safetensors") == desk.read("whole/last/model.safetensors"));
}

TEST_CASE("T-06: a second Ctrl-C ends the program at once") {
  const TextDesk desk;
  RunningCommand command(words_of(kEndless + " --save-every 1000000"), desk.path());
  REQUIRE(command.wait_for("step     20 of"));
  // Held while both arrive, so that it has no time to stop for the first one.
  command.send(SIGSTOP);
  command.send(SIGINT);
  command.send(SIGTERM);
  command.send(SIGCONT);
  const Outcome run = command.wait();
  CHECK(run.code == 130);
  CHECK_FALSE(contains(run.out, "stopped at step"));
  CHECK_FALSE(desk.has("m/last"));
}

TEST_CASE("T-06: Ctrl-C in the middle of an update of many micro-batches does not wait for its end") {
  // Everything that moves the random stream: batches, masks, evaluations.
  const std::string line =
      " --data t.txt --dropout 0.2 --torch-dropout --eval-mode batches --eval-every 2 --micro-batches 300" +
      std::string(kTiny);
  const TextDesk desk;
  REQUIRE(desk.run("train --out whole --steps 3" + line).code == 0);
  // An update of minutes.
  RunningCommand command(
      words_of("train --out long --steps 3 --data t.txt --micro-batches 65536" + std::string(kTiny)),
      desk.path());
  REQUIRE(command.wait_for("step      0  train loss"));
  command.send(SIGINT);
  CHECK(contains(command.wait().out, "stopped at step 0, saved in long; go on with --resume"));

  // At whatever moment it comes, the update is made again from its start.
  for (const char* moment : {"step      0  train loss", "step      1 of", "step      2  train loss"}) {
    std::filesystem::remove_all(desk.path() / "m");
    RunningCommand part(words_of("train --out m --steps 3 --log-every 1" + line), desk.path());
    REQUIRE(part.wait_for(moment));
    part.send(SIGINT);
    part.wait();
    const Outcome resumed = desk.run("train --resume --out m");
    CHECK_MESSAGE(resumed.code == 0, resumed.text());
    CHECK(desk.read("m/last/model.safetensors") == desk.read("whole/last/model.safetensors"));
  }
}

TEST_CASE("T-06: SIGTERM does not wait for the end of an evaluation") {
  const TextDesk desk;
  RunningCommand command(words_of("train --out m --steps 3 --data t.txt --log-every 1 --eval-every 1"
                                  " --layers 1 --heads 2 --channels 16 --block 16 --eval-batches 1000000"),
                         desk.path());
  REQUIRE(command.wait_for("run: step 0"));
  command.send(SIGTERM);
  CHECK(contains(command.wait().out, "stopped at step 0"));
}

TEST_CASE("C-11: after kill -9 the run goes on from the last save, and the log is cut back to it") {
  const TextDesk desk;
  RunningCommand command(words_of(kEndless + " --save-every 7"), desk.path());
  REQUIRE(command.wait_for("step    100 of"));
  command.send(SIGKILL);
  CHECK(command.wait().code == 256 + SIGKILL);
  const auto saved = json::parse(desk.read("m/last/state.json"))["step"].get<std::int64_t>();
  CHECK(saved % 7 == 0);
  CHECK(saved >= 98);
  desk.write("m/metrics.jsonl", desk.read("m/metrics.jsonl") + "{\"step\": 12");  // as a crash may leave it
  const Outcome run = desk.run("train --resume --out m --steps " + std::to_string(saved + 3));
  CHECK_MESSAGE(run.code == 0, run.text());
  std::int64_t expected = 0;
  for (const std::string& line : lines_of(desk.read("m/metrics.jsonl"))) {
    const json entry = json::parse(line);
    if (!entry.contains("loss")) continue;
    if (entry["step"] != expected)
      FAIL_CHECK("step " << entry["step"] << " stands where " << expected << " should");
    ++expected;
  }
  CHECK(expected == saved + 3);
  for (const auto& entry : std::filesystem::directory_iterator(desk.path() / "m"))
    CHECK_FALSE(entry.path().filename().string().starts_with("."));  // nothing half-written is left
}

TEST_CASE("C-11: killed before the first save, the way on is named") {
  const TextDesk desk;
  RunningCommand command(words_of(kEndless + " --save-every 1000000"), desk.path());
  REQUIRE(command.wait_for("step      1 of"));
  command.send(SIGKILL);
  command.wait();
  const Outcome resumed = desk.run("train --resume --out m");
  CHECK(resumed.code == 2);
  CHECK(contains(resumed.err, "no saved state to resume from"));
  CHECK(contains(resumed.err, "begin a run in it without --resume"));
  check_refused(desk, "sample --model m", "there are no weights yet: its run ended before the first save");
  const Outcome again = desk.run("train --data t.txt --out m --steps 1" + std::string(kTiny));
  CHECK_MESSAGE(again.code == 0, again.text());
  CHECK(
      contains(again.out, "note: m holds a run that ended before its first save; this one takes its place"));
}

TEST_CASE("C-11: a config.json of another program is not taken for the rest of a run") {
  const TextDesk desk;
  std::filesystem::create_directory(desk.path() / "m");
  desk.write("m/config.json", "{\"name\": \"something else\"}");
  check_refused(desk, "train --data t.txt --out m --steps 1" + std::string(kTiny),
                "m/config.json is there and cannot be read");
  CHECK(contains(desk.read("m/config.json"), "something else"));
}

}  // namespace
}  // namespace minigpt::test
