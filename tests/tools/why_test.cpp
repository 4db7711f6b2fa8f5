#include <nlohmann/json.hpp>

#include "tests/tools/run_command.h"

namespace minigpt::test {
namespace {

TEST_CASE("minigpt why: in words, and as JSON with the id of each cause") {
  const Desk& desk = trained_desk();
  const std::string model = (desk.path() / "model").string();
  Desk here;
  here.write("t.txt", english_text());
  const std::string why = "why --model " + model + " --data t.txt --tensor ";
  const Outcome words = here.run(why + "lm_head.weight");
  CAPTURE(words.text());
  CHECK(words.code == 0);
  CHECK(contains(words.out, "gradient: norm "));
  CHECK(contains(words.out, "cross_entropy"));

  const Outcome run = here.run(why + "lm_head.weight --json --index 1,2");
  CHECK(run.code == 0);
  const auto answer = nlohmann::json::parse(run.out);
  for (const char* key : {"tensor", "shape", "index", "state", "loss", "norm", "rms", "zeros", "value",
                          "typical_rms", "grad_norm", "clip", "causes", "path"})
    CHECK_MESSAGE(answer.contains(key), key);
  CHECK(answer["state"] == "ordinary");
  CHECK(answer["index"] == nlohmann::json{1, 2});
}

TEST_CASE("minigpt why: bad input is one clear line and exit code 2") {
  Desk here;
  here.write("t.txt", english_text());
  here.write("one.txt", "a");
  const std::string model = "why --model " + (trained_desk().path() / "model").string();
  struct Case {
    const char *options, *message;
  };
  for (const Case& c :
       {Case{" --data t.txt --tensor lm_head.wieght", "did you mean lm_head.weight?"},
        Case{" --data t.txt --tensor lm_head.weight --index 1;2", "is not a list of numbers"},
        Case{" --data t.txt --tensor lm_head.weight --index 1", "does not fit the shape"},
        Case{" --data t.txt --tensor lm_head.weight --index 99999,0", "is outside the shape"},
        Case{" --data one.txt --tensor lm_head.weight", "1 character, but at least 2 are needed"},
        Case{" --data t.txt --tensor lm_head.weight --batch 0", "--batch"}}) {
    const Outcome run = here.run(model + c.options);
    CAPTURE(run.text());
    CHECK(run.code == 2);
    CHECK(contains(run.err, c.message));
    CHECK(std::count(run.err.begin(), run.err.end(), '\n') == 1);
  }
}

}  // namespace
}  // namespace minigpt::test
