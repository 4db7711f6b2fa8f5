// minigpt inspect: its JSON beside what other commands say, and bad input. The page itself is opened in tests/report.

#include <nlohmann/json.hpp>

#include "tests/tools/run_command.h"

namespace minigpt::test {
namespace {

constexpr std::string_view kInspect = "inspect --model model --data english.txt --threads 1 ";

nlohmann::json inspected(std::string_view more) {
  const Outcome run = trained_desk().run(std::string(kInspect) + "--json " + std::string(more));
  INFO(run.text());
  REQUIRE(run.code == 0);
  return nlohmann::json::parse(run.out);
}

TEST_CASE("inspect: every part is there, and as long as it says") {
  const auto out = inspected("");
  CHECK(out["format"] == "minigpt-inspection");
  CHECK(out["version"] == 1);
  const auto info = nlohmann::json::parse(trained_desk().run("info --model model --json").out);
  CHECK(out["model"]["parameters"] == info["parameters"]);
  CHECK(out["model"]["vocabulary"] == info["vocabulary"]);
  REQUIRE(out["gradients"]["parameters"].size() == info["tensors"].size());
  for (std::size_t i = 0; i < info["tensors"].size(); ++i)
    CHECK(out["gradients"]["parameters"][i]["name"] == info["tensors"][i]["name"]);
  CHECK(out["training"]["steps"]["step"].size() == 20);
  CHECK(out["training"]["ladder"]["rows"].size() == 5);
  CHECK(out["text"]["tokens"].size() == 17);  // the context of 16, and one more
  CHECK(out["attention"]["length"] == 16);
  REQUIRE(out["attention"]["layers"].size() == 1);
  REQUIRE(out["attention"]["layers"][0].size() == 2);
  CHECK(out["attention"]["layers"][0][0].get<std::string>().size() == 364);  // 16 * 17 bytes
  CHECK(out["heads"].size() == 2);
  CHECK(out["heads"][0]["loss_rise"].is_null());
  CHECK(out["predictions"]["loss"].size() == 16);
  CHECK(out["predictions"]["lens"].size() == 2);
  CHECK(out["predictions"]["saliency_by_token"].size() == 16);
  CHECK(out["graph"]["nodes"].back()["op"] == "cross_entropy");
  CHECK(out["cost"]["ms"] > 0);
  CHECK(out["watch"].is_null());
}

TEST_CASE("inspect: a text of one's own is scored as eval scores it") {
  const Desk& desk = trained_desk();
  desk.write("short.txt", "thetimeand");
  const auto eval =
      nlohmann::json::parse(desk.run("eval --model model --data short.txt --json --threads 1").out);
  const auto out = inspected("--text thetimeand");
  CHECK(out["text"]["characters"][3] == "t");
  CHECK(out["predictions"]["mean_loss"].get<double>() ==
        doctest::Approx(eval["loss"].get<double>()).epsilon(1e-5));
}

TEST_CASE("inspect: ablation gives what heads gives") {
  const auto out = inspected("--ablation");
  for (const auto& head : out["heads"]) CHECK(head["loss_rise"].is_number());
}

TEST_CASE("inspect: bad input is answered with one line and exit code 2") {
  const auto refuses = [&](const std::string& line, std::string_view reason) {
    const Outcome run = trained_desk().run(line);
    CAPTURE(run.text());
    CHECK(run.code == 2);
    CHECK(run.out.empty());
    CHECK(lines_of(run.err).size() == 1);
    CHECK(contains(run.err, reason));
  };
  refuses(std::string(kInspect), "needs --out FILE for the page, or --json");
  refuses(std::string(kInspect) + "--json --text x", "--text: needs at least 2 characters");
  refuses("inspect --model none --data english.txt --json", "none");
  refuses("inspect --model model --data none.txt --json", "none.txt");
  refuses("inspect --data english.txt --json", "--model is required");
}

TEST_CASE("inspect: --out writes the page, or says in one line why it cannot") {
  const Desk& desk = trained_desk();
  const Outcome run = desk.run(std::string(kInspect) + "--out report.html");
  CAPTURE(run.text());
  CHECK(lines_of(run.err).size() == 1);
  if (run.code == 2) {  // built without npm
    CHECK(contains(run.err, "built without the page"));
    CHECK_FALSE(desk.has("report.html"));
    return;
  }
  REQUIRE(run.code == 0);
  const std::string page = desk.read("report.html");
  CHECK(page.starts_with("<!doctype html>"));
  CHECK(contains(page, "\"format\":\"minigpt-inspection\""));
  CHECK(contains(page, "Eclipse Public License"));
  CHECK(contains(page, "Apache License"));
  CHECK(contains(page, "<h2>Predictions</h2>"));  // without scripts
  CHECK_FALSE(contains(page, "<!--PLAIN-->"));
}

}  // namespace
}  // namespace minigpt::test
