// Values at the ends of what is allowed, and beside it. Each is taken as meant, or refused in one line.

#include <nlohmann/json.hpp>

#include "tests/tools/checkpoint_bytes.h"
#include "tests/tools/run_command.h"

namespace minigpt::test {
namespace {

using namespace std::string_view_literals;
using nlohmann::json;

struct TextDesk : Desk {
  TextDesk() { write("t.txt", english_text()); }
  Outcome train(const std::string& options) const {
    return run("train --data t.txt --out m --overwrite" + std::string(kTiny) + " " + options);
  }
};

// One line, exit code 2, nothing on standard output and nothing on the disk.
void check_refused(const Desk& desk, const Outcome& run, std::string_view reason) {
  CAPTURE(run.text());
  CHECK(run.code == 2);
  CHECK(run.out.empty());
  CHECK(lines_of(run.err).size() == 1);
  CHECK(contains(run.err, reason));
  CHECK_FALSE(desk.has("m"));
}

TEST_CASE("T-11: an empty value, as an unset shell variable leaves it, is not taken for a missing option") {
  const Desk desk;
  desk.write("t.txt", english_text());
  // "" for a file or folder would mean: the built-in text, this machine, the defaults.
  for (const char* option :
       {"--data", "--out", "--preset", "--config", "--init-from", "--steps", "--dtype", "--seed"}) {
    CAPTURE(option);
    check_refused(desk, desk.run("train", {option, ""}), " needs a value");
  }
  for (const char* line : {"info --model", "eval --model model --data", "sample --prompt a --model",
                           "heads --model model --text", "bench train --data",
                           "lesson simple-attention --figures", "graph --model model --out"}) {
    CAPTURE(line);
    const Outcome run = trained_desk().run(line, {""});
    CHECK_MESSAGE(run.code == 2, run.text());
    CHECK(run.out.empty());
    CHECK(lines_of(run.err).size() == 1);
    CHECK(contains(run.err, " needs a value"));
  }
}

TEST_CASE("S-01: an empty prompt is no prompt: the text starts from the vocabulary") {
  const Outcome none = trained_desk().run("sample --model model --seed 1 --tokens 9");
  const Outcome empty = trained_desk().run("sample --model model --seed 1 --tokens 9 --prompt", {""});
  CHECK(empty.code == 0);
  CHECK(empty.out == none.out);
}

TEST_CASE("T-11, S-06: whole numbers are read digit by digit, not by the nearest double") {
  const TextDesk desk;
  CHECK(desk.train("--steps 1 --seed 9007199254740992").code == 0);
  CHECK(json::parse(desk.read("m/config.json"))["seed"] == 9007199254740992);
  CHECK(desk.train("--steps 1 --seed 9007199254740991").code == 0);
  CHECK(json::parse(desk.read("m/config.json"))["seed"] == 9007199254740991);
  const Desk other;
  other.write("t.txt", english_text());
  check_refused(other, other.run("train --data t.txt --out m --seed 9007199254740993"),
                "--seed: 9007199254740993 is out of range (0 to 9007199254740992)");
}

TEST_CASE("T-11: numbers in the spellings of other places are refused, not half read") {
  const Desk desk;
  desk.write("t.txt", english_text());
  for (const char* steps :
       {"0x10", "1,000", "1_000", "1e3x", "1e-3", " 5", "5 ", "+-5", "--5", "\u0663", "five", "1e400"})
    check_refused(desk, desk.run("train --data t.txt --out m", {std::string("--steps=") + steps}), "--steps");
  for (const char* rate : {"1,5", "0x1p-3", "1e", "e5", ".", "+", "1.2.3", "infinity", "-nan", "1e999"})
    check_refused(desk, desk.run("train --data t.txt --out m", {std::string("--lr=") + rate}), "--lr");
}

TEST_CASE("T-11: settings on the edge of what makes sense train, or say why not") {
  const TextDesk desk;
  for (const char* fine : {"--dropout -0.0", "--steps +3", "--steps 3.0", "--init-std 0", "--init-std 10",
                           "--beta2 0", "--beta1 0", "--lr 1e-40 --min-lr 0", "--watch 0", "--grad-clip 1e-9",
                           "--grad-clip 1e9", "--weight-decay 0"}) {
    CAPTURE(fine);
    const Outcome run = desk.train((contains(fine, "--steps") ? "" : "--steps 2 ") + std::string(fine));
    CHECK_MESSAGE(run.code == 0, run.text());
    CHECK(all_numbers_finite(desk.read("m/last/model.safetensors")));
  }
  const Desk empty;
  empty.write("t.txt", english_text());
  const struct {
    const char* options;
    const char* reason;
  } cases[] = {
      {"--lr 0 --min-lr 0", "--lr): 0 is out of range (above 0"},
      {"--dropout 1", "--dropout: 1 is out of range (0 or more, below 1)"},  // nothing could be learnt
      {"--lr 1e-999 --min-lr 0", "--lr): 1e-999 is out of range"},           // less than any number: 0
      {"--lr -1", "--lr"},
      {"--lr 1e30", "--lr"},
      {"--adam-eps 0", "--adam-eps: 0 is out of range"},  // 0 / 0 for a weight without a gradient
      {"--beta1 1", "--beta1"},
      {"--batch 0", "--batch"},
      {"--micro-batches 0", "--micro-batches"},
      {"--eval-every 0", "--eval-every"},
      {"--eval-batches 0", "--eval-batches"},
      {"--save-every 0", "--save-every"},
      {"--log-every 0", "--log-every"},
      {"--grad-clip nan", "--grad-clip"},
      {"--grad-clip inf", "--grad-clip"},
      {"--weight-decay -1", "--weight-decay"},
      {"--block 0", "--block"},
      {"--block 65537", "--block"},
      {"--train-fraction 0", "--train-fraction"},
      {"--train-fraction 1.0000001", "--train-fraction"},
      {"--early-stop -1", "--early-stop"},
      {"--watch -1", "--watch"},
  };
  for (const auto& c : cases)
    check_refused(empty, empty.run("train --data t.txt --out m " + std::string(c.options)), c.reason);
}

TEST_CASE("T-01: a rate of 1e4 ends the run with the last good state, however often states are saved") {
  const TextDesk desk;
  for (const char* preset : {"quick", "nanogpt-cpu"}) {
    CAPTURE(preset);
    const Outcome run =
        desk.train("--preset " + std::string(preset) + " --steps 60 --lr 1e4 --save-every 1 --log-every 1");
    CAPTURE(run.text());
    CHECK(run.code == 1);
    CHECK(contains(run.err, "[train] step "));
    CHECK_FALSE(contains(run.err, "-nan"));
    CHECK(all_numbers_finite(desk.read("m/last/model.safetensors")));
    // Whoever goes on from it gets at least one loss.
    const std::int64_t saved = json::parse(desk.read("m/last/state.json"))["step"];
    const Outcome resumed = desk.run("eval --model m --data t.txt");
    CHECK(saved > 0);
    CHECK(contains(resumed.out, "nats per character"));
  }
}

TEST_CASE("N-08: the folder says which GELU its model has") {
  const TextDesk desk;
  for (const char* kind : {"gelu", "gelu_tanh"}) {
    REQUIRE(desk.train("--preset nanogpt-cpu --steps 1 --activation " + std::string(kind)).code == 0);
    CHECK(json::parse(desk.read("m/config.json"))["activation"] == kind);
  }
}

TEST_CASE("S-02: temperatures too small for any number are greedy, too") {
  const std::string greedy =
      trained_desk().run("sample --model model --prompt The --tokens 30 --temperature 0").out;
  for (const char* tiny : {"1e-45", "5e-324", "1e-400", "-0"})
    CHECK(trained_desk()
              .run("sample --model model --prompt The --tokens 30", {std::string("--temperature=") + tiny})
              .out == greedy);
}

TEST_CASE("sample: top-k and top-p at their ends") {
  const auto sample = [](const std::string& options) {
    return trained_desk().run("sample --model model --prompt The --tokens 30 --seed 4 " + options);
  };
  const std::string all = sample("").out, greedy = sample("--temperature 0").out;
  for (const char* everything : {"--top-k 0", "--top-k 1000", "--top-k 1000000000", "--top-p 1"})
    CHECK(sample(everything).out == all);
  for (const char* one : {"--top-k 1", "--top-p 1e-300"}) CHECK(sample(one).out == greedy);
  for (const char* bad : {"--top-k -1", "--top-k 1.5", "--top-p 0", "--top-p 1.1", "--top-p nan",
                          "--samples 0", "--tokens -1", "--tokens 9223372036854775808"}) {
    const Outcome run = sample(bad);
    CAPTURE(run.text());
    CHECK(run.code == 2);
    CHECK(run.out.empty());
    CHECK(lines_of(run.err).size() == 1);
  }
}

}  // namespace
}  // namespace minigpt::test
