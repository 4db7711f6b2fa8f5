// minigpt heads: the table, its JSON, and bad input.

#include <nlohmann/json.hpp>

#include "tests/tools/run_command.h"

namespace minigpt::test {
namespace {

TEST_CASE("heads: every head has a line with a type, sorted by what the model loses without it") {
  const Desk& desk = trained_desk();
  const Outcome run = desk.run("heads --model model --text english.txt --characters 400 --threads 1");
  CAPTURE(run.text());
  REQUIRE(run.code == 0);
  const std::vector<std::string> lines = lines_of(run.out);
  REQUIRE(lines.size() >= 5);
  CHECK(contains(lines[0], "400 characters in 25 windows; loss "));
  CHECK(contains(lines[2], " 0."));
  CHECK(contains(lines[4], "uniform attention"));
  CHECK(contains(run.out, "mean distance by layer: "));
}

TEST_CASE("heads: JSON has the loss that eval gives, and scores between 0 and 1") {
  const Desk& desk = trained_desk();
  const Outcome run =
      desk.run("heads --model model --text english.txt --characters 100000 --json --threads 1");
  CAPTURE(run.text());
  REQUIRE(run.code == 0);
  const auto out = nlohmann::json::parse(run.out);
  const auto eval =
      nlohmann::json::parse(desk.run("eval --model model --data english.txt --json --threads 1").out);
  CHECK(out["loss"] == eval["loss"]);
  REQUIRE(out["heads"].size() == 2);
  CHECK(out["heads"][0]["loss_rise"] >= out["heads"][1]["loss_rise"]);
  for (const auto& head : out["heads"]) {
    CHECK(head["offset"].size() == 17);
    for (const char* name : {"sink", "top", "entropy", "same", "follow", "blank"}) {
      CAPTURE(name);
      CHECK(head[name]["value"] >= 0);
      CHECK(head[name]["value"] <= 1.000001);
    }
  }
}

TEST_CASE("heads: without ablation nothing is switched off, and the order is that of the layers") {
  const Desk& desk = trained_desk();
  const auto out = nlohmann::json::parse(
      desk.run("heads --model model --text english.txt --no-ablation --json --threads 1").out);
  CHECK(out["heads"][0]["loss_rise"].is_null());
  CHECK(out["heads"][0]["head"] == 0);
  CHECK(out["heads"][1]["head"] == 1);
}

TEST_CASE("heads: bad input is answered with one line and exit code 2") {
  const Desk& trained = trained_desk();
  const Desk desk;
  desk.copy_from(trained, "model");
  desk.write("short.txt", "Sixteen letters.");
  desk.write("strange.txt", "This text has a cat in it that the model has never seen: 猫");
  desk.write("good.txt", "This text is long enough for it.");
  const auto refuses = [&](std::string_view line, std::string_view reason) {
    check_refused(desk, line, reason);
  };
  refuses("heads --model model --text short.txt",
          "short.txt: 16 characters, but the model's context is 16: needs at least 17");
  refuses("heads --model model --text strange.txt", "is not in the vocabulary");
  refuses("heads --model model --text none.txt", "none.txt");
  refuses("heads --model none --text good.txt", "none");
  refuses("heads --model model --text good.txt --characters 10",
          "10 characters, but the model's context is 16");
  refuses("heads --model model --text good.txt --top-k 0", "--top-k: 0 is out of range");
  refuses("heads --text good.txt", "--model is required");
}

}  // namespace
}  // namespace minigpt::test
