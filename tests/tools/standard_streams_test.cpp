// Standard input, output and error that are closed, full, or not there at all.

#include <nlohmann/json.hpp>

#include "tests/tools/run_command.h"

namespace minigpt::test {
namespace {

const std::string kRun = "train --data english.txt --out m --steps 4 --eval-every 2" + std::string(kTiny);

RunOptions error_to(const std::string& file) {
  RunOptions options;
  options.error_file = file;
  return options;
}

RunOptions without(std::vector<int> descriptors) {
  RunOptions options;
  options.closed = std::move(descriptors);
  return options;
}

TEST_CASE("standard error that cannot be written changes neither result nor exit code") {
  const Desk& desk = trained_desk();
  const std::string sample = "sample --model model --tokens 20 --seed 1";
  const std::string text = desk.run(sample).out;
  REQUIRE(text.size() > 20);
  for (const RunOptions& options : {error_to("/dev/full"), without({2})}) {
    const Outcome good = desk.run(sample, options);
    CHECK(good.code == 0);
    CHECK(good.out == text);
    CHECK(desk.run("sample --model missing", options).code == 2);
    CHECK(desk.run("train --nonsense", options).code == 2);
    CHECK(desk.run("--version", options).code == 0);
  }
}

TEST_CASE("standard output that cannot be written is an error, and one line says so") {
  const Desk& desk = trained_desk();
  const Outcome closed = desk.run("info", without({1}));
  CHECK(closed.code == 1);
  CHECK(contains(closed.err, "minigpt: standard output could not be written"));
  CHECK(lines_of(closed.err).size() == 1);
  CHECK(desk.run("info", without({1, 2})).code == 1);
}

TEST_CASE("no file of a model takes the place of a closed descriptor") {
  for (const std::vector<int>& missing : {std::vector<int>{0, 1}, {0, 2}, {0, 1, 2}}) {
    const Desk desk;
    desk.write("english.txt", english_text());
    desk.run(kRun, without(missing));
    if (!desk.has("m/metrics.jsonl")) continue;  // gave up before
    for (const std::string& line : lines_of(desk.read("m/metrics.jsonl")))
      CHECK_MESSAGE(nlohmann::json::accept(line), line);
  }
  const Desk desk;
  desk.write("english.txt", english_text());
  CHECK(desk.run(kRun, without({0, 2})).code == 0);
  CHECK(lines_of(desk.read("m/metrics.jsonl")).size() == 7);
}

}  // namespace
}  // namespace minigpt::test
