// How the command refuses: one line, in the words of whoever typed it, and nothing that was given is passed over in silence.

#include <cctype>
#include <regex>

#include "tests/tools/run_command.h"

namespace minigpt::test {
namespace {

TEST_CASE("a text that is refused has no other lines, whatever else there is to say about it") {
  const Desk desk;
  desk.copy_from(trained_desk(), "model");
  desk.write("bom.txt", "\xEF\xBB\xBFT");  // a byte-order mark, worth a note, and one character
  for (const char* line :
       {"train --data bom.txt --out new", "eval --model model --data bom.txt", "ngram --data bom.txt",
        "heads --model model --text bom.txt", "graph --model model --data bom.txt",
        "why --model model --data bom.txt --tensor lm_head.weight",
        "inspect --model model --data bom.txt --json", "lesson heat-map --model model --text bom.txt",
        "lesson train-gpt --text bom.txt"}) {
    CAPTURE(line);
    check_refused(desk, line, "1 character");
    const Outcome run = desk.run(line);
    CHECK_FALSE(contains(run.err, "1 characters"));
    // Advice is about options that the command has.
    const bool train = std::string_view(line).starts_with("train");
    CHECK(contains(run.err, "smaller block") == train);
  }
}

TEST_CASE("an empty text is empty, whatever it was wanted for") {
  const Desk desk;
  desk.copy_from(trained_desk(), "model");
  desk.write("empty.txt", "");
  for (const char* line :
       {"train --data empty.txt --out new", "eval --model model --data empty.txt", "ngram --data empty.txt",
        "heads --model model --text empty.txt", "why --model model --data empty.txt --tensor lm_head.weight"})
    check_refused(desk, line, "empty.txt: is empty");
}

// "--top-k INT [0]  choose among ... (0 to 1000000000)": every option of a command, with its explanation.
std::vector<std::string> options_of(const Desk& desk, const std::string& command) {
  std::vector<std::string> options;
  for (const std::string& line : lines_of(desk.run(command + " --help").out)) {
    const std::size_t start = line.find_first_not_of(' ');
    if (start == line.npos) continue;
    if (start < 8 && line[start] == '-')
      options.push_back(line);
    else if (start >= 8 && !options.empty())
      options.back() += line.substr(start - 1);
  }
  return options;
}

TEST_CASE("every option that takes a number says which numbers") {
  const Desk desk;
  const std::regex number(" (INT|NUMBER|MS)( |$)"), limits("\\((above |each )?-?[0-9].*\\)");
  for (const char* command :
       {"train", "sample", "eval", "ngram", "gradcheck", "info", "heads", "why", "inspect", "graph", "lesson",
        "bench matmul", "bench ops", "bench train", "bench sample", "bench memory"}) {
    const std::vector<std::string> options = options_of(desk, command);
    CHECK_FALSE(options.empty());
    for (const std::string& option : options)
      if (std::regex_search(option, number))
        CHECK_MESSAGE(std::regex_search(option, limits), command << ": " << option);
  }
}

TEST_CASE("what the help excludes is refused, in the words of the help") {
  const Desk desk;
  desk.copy_from(trained_desk(), "model");
  desk.write("t.txt", english_text());
  struct Case {
    const char *command, *option, *value, *limits;
  };
  for (const Case& c :
       {Case{"train --data t.txt --out new", "--learning-rate", "0", "(above 0, at most 1000000)"},
        Case{"train --data t.txt --out new", "--dropout", "1", "(0 or more, below 1)"},
        Case{"sample --model model", "--top-p", "0", "(above 0, at most 1)"},
        Case{"sample --model model", "--samples", "0", "(1 to 1000000000)"},
        Case{"heads --model model --text t.txt", "--characters", "1", "(2 or more)"},
        Case{"ngram --data t.txt", "--order", "0", "(1 to "},
        Case{"why --model model --data t.txt --tensor x", "--batch", "1025", "(1 to 1024)"}}) {
    CAPTURE(c.option);
    const std::string command = c.command;
    check_refused(desk, command + " " + c.option + " " + c.value,
                  std::string(c.value) + " is out of range (" + std::string(c.limits).substr(1, 2));
    const std::vector<std::string> options = options_of(desk, command.substr(0, command.find(' ')));
    bool said = false;
    for (const std::string& option : options)
      said = said || (contains(option, c.option) && contains(option, c.limits));
    CHECK_MESSAGE(said, command << " --help does not say " << c.limits << " for " << c.option);
  }
  // A config.json with what the options would not take.
  desk.write("c.json", R"({"dropout": 1})");
  check_refused(desk, "train --data t.txt --out new --config c.json",
                "dropout must be 0 or more, below 1, got 1");
}

TEST_CASE("an option that excludes another one, or that nothing is done with, is an error") {
  const Desk desk;
  desk.copy_from(trained_desk(), "model");
  desk.write("t.txt", english_text());
  const auto refuses = [&](std::string_view line, std::string_view reason) {
    check_refused(desk, line, reason);
  };
  for (const char* option :
       {"--figures f", "--answers", "--seed 3", "--model model", "--text t.txt", "--threads 1"})
    refuses("lesson " + std::string(option), "needs the name of a lesson");
  CHECK_FALSE(desk.has("f"));
  refuses("graph --model model --unfold --depth 2", "--unfold and --depth exclude each other");
  refuses("graph --model model --unfold --parameters", "--unfold shows parameters anyway");
  refuses("graph --model model --json --format dot", "--json and --format dot exclude each other");
}

TEST_CASE("messages are about what was typed, not about functions of the library") {
  const Desk desk;
  desk.copy_from(trained_desk(), "model");
  desk.write("t.txt", english_text());
  desk.write("file", "x");
  for (const char* line :
       {"why --model model --data t.txt --tensor lm_head.weight --index 1",
        "why --model model --data t.txt --tensor lm_head.weight --index 1,99",
        "why --model model --data t.txt --tensor nosuch", "graph --model model --out file/x.dot",
        "inspect --model model --data t.txt --out nosuch/x.html", "lesson simple-attention --figures file",
        "train --data t.txt --out file", ""}) {
    const Outcome run = desk.run(line);
    CAPTURE(run.text());
    CHECK(run.code == 2);
    CHECK(lines_of(run.err).size() == 1);
    CHECK_FALSE(std::regex_search(run.err, std::regex("\\[[a-z]+_[a-z_]+\\]")));
  }
}

TEST_CASE("an option that has no effect beside the others is said") {
  const Desk desk;
  desk.copy_from(trained_desk(), "model");
  desk.write("t.txt", english_text());
  const auto says = [&](const std::string& line, std::string_view note) {
    const Outcome run = desk.run(line);
    CAPTURE(run.text());
    CHECK(run.code == 0);
    CHECK(contains(run.out + run.err, note));
  };
  const std::string sample = "sample --model model --tokens 3 --temperature 0 ";
  for (const char* option : {"--top-k", "--top-p", "--seed"})
    says(sample + option + " 1", std::string("note: ") + option + " has no effect: --temperature 0");
  says(sample + "--samples 2", "note: --samples: with --temperature 0, all texts of a prompt are the same");
  says("heads --model model --text t.txt --characters 100 --no-ablation --by-layer",
       "note: --by-layer has no effect");

  const std::string train =
      "train --preset nanogpt-cpu --data t.txt --overwrite --steps 1" + std::string(kTiny);
  const auto idle = [&](const std::string& options, const std::string& option) {
    says(train + " " + options, "note: " + option + " has no effect: ");
  };
  idle("--schedule constant --min-lr 0.0001", "--min-lr");
  idle("--schedule constant --warmup-steps 1", "--warmup-steps");
  idle("--schedule constant --lr-decay-steps 300", "--lr-decay-steps");
  idle("--decay-steps 3", "--decay-steps");
  idle("--muon-momentum 0.9", "--muon-momentum");
  idle("--torch-dropout", "--torch-dropout");
  says("train --preset names --data t.txt --overwrite --steps 1 --eval-batches 1 --eval-mode windows",
       "note: --eval-mode has no effect: ");
  CHECK_FALSE(contains(desk.run(train + " --dropout 0.1 --torch-dropout").out, "has no effect"));

  says("lesson tensors --model model", "note: --model has no effect on this lesson");
  says("lesson tensors --text t.txt", "note: --text has no effect on this lesson");
  says("lesson tensors --seed 5", "note: --seed has no effect on this lesson");
  says("lesson tensors --figures f", "note: --figures has no effect on this lesson");
  CHECK(desk.run("lesson simple-attention --figures f").err.empty());
}

TEST_CASE("what the machine has run out of is no mistake of whoever asked: exit code 1") {
  const Desk desk;
  desk.write("english.txt", english_text());
  for (long files = 5; files <= 7; ++files) {
    CAPTURE(files);
    RunOptions few;
    few.open_file_limit = files;
    const Outcome run =
        desk.run("train --data english.txt --out new --overwrite --steps 2" + std::string(kTiny), few);
    CAPTURE(run.text());
    if (run.code == 0 || contains(run.err, "shared libraries")) continue;
    CHECK(run.code == 1);
    CHECK(contains(run.err, "Too many open files"));
  }
}

}  // namespace
}  // namespace minigpt::test
