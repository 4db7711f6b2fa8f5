// minigpt inspect: its JSON beside what other commands say, and bad input. The page itself is opened in tests/report.

#include <nlohmann/json.hpp>

#include "models/utf8.h"
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

TEST_CASE(
    "V-03: attention that would make the page too big is cut to the first characters, and that is said") {
  // 1 layer, 2 heads: 136 pairs of 16 characters are 725 bytes.
  CHECK(inspected("--attention-mb 0.000726")["attention"]["length"] == 16);
  const Outcome run = trained_desk().run(std::string(kInspect) + "--json --attention-mb 0.0002");
  CAPTURE(run.text());
  REQUIRE(run.code == 0);
  CHECK(contains(
      run.err,
      "note: attention on 16 characters would fill 0.000725 MB: 8 are shown; --attention-mb allows more"));
  const auto out = nlohmann::json::parse(run.out);
  CHECK(out["attention"]["length"] == 8);
  CHECK(out["attention"]["layers"][0][1].get<std::string>().size() <= 100);
  CHECK(out["text"]["tokens"].size() == 9);
  CHECK(out["predictions"]["loss"].size() == 8);
  for (const char* bad : {"0", "-1", "nan", "x", "1e9"})
    CHECK(trained_desk().run(std::string(kInspect) + "--json --attention-mb " + bad).code == 2);
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

// The number of times that `part` stands in `text`.
int count(std::string_view text, std::string_view part) {
  int n = 0;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++n;
  return n;
}

TEST_CASE("V-01: nothing in a text, a file name or a folder name becomes part of the page") {
  // Every way out of the place where a text stands: tags, attributes, comments, CDATA, entities, the page's own marks;
  // then line separators and a change of direction.
  const std::string evil =
      "<script>alert(1)</script></"
      "td><td>&amp;&lt;\"'`]]>--><!--\"DATA\"<!--PLAIN-->\xE2\x80\xA8\xE2\x80\xAE<img src=x onerror=a>";
  const auto page_of = [](const std::string& text, const std::string& data,
                          const std::string& model) -> std::string {
    const Desk desk;
    desk.write(data, text);
    const std::string sizes = " --steps 2" + std::string(kTiny);
    REQUIRE(desk.run("train" + sizes, {"--data", data, "--out", model}).code == 0);
    const Outcome run = desk.run("inspect --out page.html --threads 1",
                                 {"--data", data, "--model", model, "--text", text.substr(0, 17)});
    if (run.code == 2) return "";  // built without npm
    CHECK_MESSAGE(run.code == 0, run.text());
    return desk.read("page.html");
  };
  std::string harmless, harmful;
  while (harmful.size() < 800) {
    harmful += evil;
    harmless += std::string(utf8_decode(evil, "evil").text.size(), 'a') + "b";
  }
  const std::string page = page_of(harmful, "a<b onclick=\"c\">&amp;'.txt", "m<script>alert(2)&lt;'");
  if (page.empty()) return;
  const std::string plain = page_of(harmless, "t.txt", "m");
  for (const char* part : {"<script", "</script", "<img", "<!--", "onclick=\"c\"", "alert(1)</"})
    CHECK_MESSAGE(count(page, part) == count(plain, part), part << " stands more often");
  // What the page holds is the text, to the letter.
  const std::string mark = "\"format\":\"minigpt-inspection\"";
  const std::size_t at = page.rfind('{', page.find(mark));
  REQUIRE(at != page.npos);
  std::istringstream rest(page.substr(at));
  nlohmann::json data;
  rest >> data;
  CHECK(data["format"] == "minigpt-inspection");
  CHECK(data["model"]["folder"] == "m<script>alert(2)&lt;'");
  std::string shown;
  for (const auto& c : data["text"]["characters"]) shown += c.get<std::string>();
  CHECK(shown == harmful.substr(0, 17));
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
