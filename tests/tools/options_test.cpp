// Options that are mistyped, out of range, missing or given twice.

#include "tests/tools/run_command.h"

namespace minigpt::test {
namespace {

// A desk with a text on which nothing may be trained.
struct Untouched : Desk {
  Untouched() { write("t.txt", english_text()); }

  void refuses(std::string_view options, std::string_view reason) const {
    const Outcome run = Desk::run("train --data t.txt --out m " + std::string(options));
    CAPTURE(options);
    CAPTURE(run.text());
    CHECK(run.code == 2);
    CHECK(run.out.empty());
    CHECK(lines_of(run.err).size() == 1);
    CHECK(contains(run.err, reason));
    CHECK_FALSE(has("m"));
  }
};

TEST_CASE("T-11: a mistyped option or command is answered with the nearest name") {
  const Untouched desk;
  desk.refuses("--lerning-rate 1e-3", "no option '--lerning-rate' for train; did you mean --learning-rate?");
  desk.refuses("--stepz=3", "no option '--stepz' for train; did you mean --steps?");
  desk.refuses("--layer 3", "did you mean --layers?");
  desk.refuses("--colour red", "no option '--colour' for train");
  desk.refuses("--foo", "no option '--foo' for train; see minigpt train --help");  // not --out
  desk.refuses("--temperature 1", "no option '--temperature' for train; see minigpt train --help");
  desk.refuses("-x", "no option '-x' for train; see minigpt train --help");
  desk.refuses("more", "no argument 'more' for train");
  desk.refuses("--norm leyer", "--norm: 'leyer' is not one of layer | rms; did you mean layer?");
  desk.refuses("--preset quik", "there are: quick, nanogpt-cpu, nanogpt-baby, names");
  CHECK(contains(desk.run("tarin").err, "no command 'tarin'; did you mean train?"));
  CHECK(desk.run("tarin").code == 2);
  CHECK(desk.run("--steps 3").code == 2);
}

TEST_CASE("T-11: a bad value is refused with the option, the value and what is allowed") {
  const Untouched desk;
  desk.refuses("--dropout 1.5", "--dropout: 1.5 is out of range (0 or more, below 1)");
  desk.refuses("--layers -1", "--n-layer (--layers): -1 is out of range (1 to 1000)");
  desk.refuses("--layers 2.5", "--n-layer (--layers): '2.5' is not a whole number (1 to 1000)");
  desk.refuses("--batch abc", "--batch-size (--batch): 'abc' is not a whole number (1 to 65536)");
  desk.refuses("--lr nan", "--learning-rate (--lr): 'nan' is not a number");
  desk.refuses("--lr inf", "--learning-rate (--lr): inf is out of range");
  desk.refuses("--steps 99999999999999999999",
               "--steps: 99999999999999999999 is out of range (1 to 1000000000000000)");
  desk.refuses("--steps 0", "--steps: 0 is out of range");
  desk.refuses("--steps 12x", "--steps: '12x' is not a whole number");
  desk.refuses("--bias maybe", "--bias: 'maybe' is neither true nor false");
  desk.refuses("--seed -1", "--seed: -1 is out of range (0 to 9007199254740992)");
  desk.refuses("--seed 18446744073709551616", "--seed: 18446744073709551616 is out of range");
  desk.refuses("--json=maybe", "--json takes no value, got 'maybe'");
  desk.refuses("--json=5", "--json takes no value, got '5'");
  desk.refuses("--dry-run=5", "--dry-run takes no value, got '5'");
  CHECK(contains(desk.run("zoo start 1 --dry-run=2").err, "--dry-run takes no value, got '2'"));
}

TEST_CASE("T-11: an option given twice, or without its value") {
  const Untouched desk;
  desk.refuses("--steps 5 --steps 6", "--steps is given more than once");
  desk.refuses("--lr 1 --learning-rate 1", "--learning-rate is given more than once");
  desk.refuses("--steps", "--steps needs a value");
  desk.refuses("--lr", "--learning-rate needs a value");
  CHECK(contains(desk.run("sample --tokens 3").err, "--model is required"));
  CHECK(desk.run("sample --tokens 3").code == 2);
}

TEST_CASE("T-11: values that are meant well are taken as meant") {
  const Untouched desk;
  const Outcome run =
      desk.run("train --data t.txt --out m --dropout 0 --steps 1e1 --bias --tie-weights false --lr +1e-3" +
               std::string(kTiny));
  CHECK_MESSAGE(run.code == 0, run.text());
  const std::string config = desk.read("m/config.json");
  for (const char* line : {"\"steps\": 10,", "\"bias\": true,", "\"tie_weights\": false,",
                           "\"learning_rate\": 0.001,", "\"dropout\": 0.0,"})
    CHECK_MESSAGE(contains(config, line), line);
}

TEST_CASE("T-11: a switch alone means yes, and takes true or false") {
  const Untouched desk;
  const struct {
    const char* options;
    const char* line;
  } cases[] = {{"--bias", "\"bias\": true,"},
               {"--bias true", "\"bias\": true,"},
               {"--bias=false", "\"bias\": false,"},
               {"--norm-gain", "\"norm_gain\": true,"},
               {"--norm-gain 0", "\"norm_gain\": false,"}};
  for (const auto& c : cases) {
    CAPTURE(c.options);
    const Outcome run =
        desk.run("train --data t.txt --out m --overwrite --steps 1" + std::string(kTiny) + " " + c.options);
    CHECK_MESSAGE(run.code == 0, run.text());
    CHECK(contains(desk.read("m/config.json"), c.line));
  }
}

TEST_CASE("T-11: --help shows every option with its default, and trains nothing") {
  const Untouched desk;
  const Outcome run = desk.run("train --data t.txt --out m --help");
  CHECK(run.code == 0);
  CHECK(run.err.empty());
  CHECK_FALSE(desk.has("m"));
  for (const char* part :
       {"--steps INT=1100", "--learning-rate,--lr NUMBER=0.01", "--preset NAME=quick", "--seed INT=1337",
        "--out DIR=model", "--dropout NUMBER=0 ", "(0 or more, below 1)", "(1 or more)", "--norm NAME=rms",
        "--bias [true|false]=false"})
    CHECK_MESSAGE(contains(run.out, part), part);
  CHECK_FALSE(contains(run.out, "e+"));  // no 1e+15 for a reader to decipher
}

TEST_CASE("T-11: a config file is read as strictly as the options") {
  const Untouched desk;
  desk.write("good.json",
             R"({"n_layer": 1, "n_head": 2, "n_embd": 16, "block_size": 16, "steps": 2, "eval_batches": 1})");
  const Outcome run = desk.run("train --data t.txt --out good --config good.json --steps 1");
  CHECK_MESSAGE(run.code == 0, run.text());
  CHECK(contains(desk.read("good/config.json"), "\"steps\": 1,"));  // options count more than the file
  const struct {
    const char* json;
    const char* reason;
  } cases[] = {
      {R"({"n_layers": 1})", "bad.json: there is no setting 'n_layers'; did you mean n_layer?"},
      {R"({"n_layer": 2.5})", "bad.json: n_layer must be a whole number, got 2.5"},
      {R"({"n_layer": "2"})", "bad.json: n_layer must be a whole number"},
      {R"({"dropout": -1})", "bad.json: dropout must be 0 or more, below 1, got -1"},
      {R"({"steps": 1, "steps": 2})", "bad.json: steps stands twice"},
      {R"({"steps": 1)", "bad.json: not valid JSON"},
      {R"([1])", "bad.json: must be a JSON object"},
  };
  for (const auto& c : cases) {
    desk.write("bad.json", c.json);
    desk.refuses("--config bad.json", c.reason);
  }
  desk.refuses("--config missing.json", "missing.json");
}

TEST_CASE("M-05: heads that do not divide the width are refused, with numbers that would work") {
  const Untouched desk;
  desk.refuses("--channels 100 --heads 12",
               "n_embd must be divisible by n_head: 100 % 12 != 0; n_head could be 10 or 20");
  desk.refuses("--channels 16 --heads 0", "--n-head (--heads): 0 is out of range (1 to 1024)");
  desk.refuses("--channels 16 --heads 32", "16 % 32 != 0; n_head could be 16");
  desk.refuses("--channels 65536 --heads 1 --layers 1000 --batch 1 --block 1", "more than the limit");
}

TEST_CASE("P-01: the number of threads is validated") {
  const Untouched desk;
  for (const char* bad : {"0", "-1", "10000", "two"}) {
    desk.refuses("--threads " + std::string(bad), "--threads: ");
    desk.refuses("--threads " + std::string(bad), "(1 to 1024)");
  }
}

TEST_CASE("T-03: a schedule that contradicts itself is refused by the names of the options") {
  const Untouched desk;
  desk.refuses("--lr 1e-5 --min-lr 0.0002", "--learning-rate 1e-05 is below --min-lr 0.0002");
  desk.refuses("--lr-decay-steps 5", "--warmup-steps 10 leaves no step before --lr-decay-steps 5");
  desk.refuses("--decay-steps 1245", "--warmup-steps 10 and --decay-steps 1245 do not fit");
}

TEST_CASE("P-02: the version shows the build type, and warns if it is slow") {
  const Desk desk;
  const Outcome run = desk.run("--version");
  CHECK(run.code == 0);
  CHECK(run.out.starts_with("minigpt 0."));
  bool named = false;
  for (const char* type : {"(Release, ", "(Debug, ", "(RelWithDebInfo, ", "(MinSizeRel, ", "(none, "})
    named = named || contains(run.out, type);
  CHECK_MESSAGE(named, run.out);
  if (contains(run.out, "(Debug, ")) CHECK(contains(run.out, "warning: this build is not optimised"));
  CHECK(contains(desk.run("info").out, run.out));
}

}  // namespace
}  // namespace minigpt::test
