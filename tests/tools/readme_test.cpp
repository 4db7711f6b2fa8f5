// The README's commands and options are those of the program.

#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <set>

#include "tests/tools/run_command.h"

namespace minigpt::test {
namespace {

const std::vector<std::string> kCommands = {"train", "sample", "eval",  "ngram", "gradcheck",
                                            "info",  "lesson", "heads", "why",   "graph"};

std::set<std::string> options_in(std::string text) {
  const std::regex option(R"((^|[^A-Za-z0-9-])(--[a-z][a-z-]*[a-z]))");
  std::set<std::string> found;
  for (std::sregex_iterator it(text.begin(), text.end(), option), end; it != end; ++it)
    found.insert((*it)[2]);
  return found;
}

// What --help lists, by command.
std::map<std::string, std::set<std::string>> known_options() {
  const Desk desk;
  std::map<std::string, std::set<std::string>> known;
  for (const std::string& command : kCommands) {
    const Outcome help = desk.run(command + " --help");
    REQUIRE(help.code == 0);
    // "  --batch-size,--batch INT=16   windows per forward pass": an option begins its line, the explanation follows.
    for (const std::string& line : lines_of(help.out)) {
      const std::vector<std::string> words = words_of(line);
      if (words.empty() || !line.starts_with("  -")) continue;
      for (const std::string& name : options_in(words[0])) known[command].insert(name);
    }
  }
  return known;
}

std::string readme() {
  std::ifstream file(MINIGPT_SOURCE_DIR "/README.md");
  REQUIRE(file.good());
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST_CASE("E-04: `minigpt COMMAND --option` in the README exists") {
  const auto known = known_options();
  const std::string text = readme();
  // Up to the end of the line or of the inline code.
  const std::regex call(
      R"(minigpt (train|sample|eval|ngram|gradcheck|info|lesson|heads|why|graph)\b([^`\n]*))");
  std::set<std::string> commands;
  for (std::sregex_iterator it(text.begin(), text.end(), call), end; it != end; ++it) {
    const std::string command = (*it)[1];
    commands.insert(command);
    for (const std::string& option : options_in((*it)[2]))
      CHECK_MESSAGE(known.at(command).contains(option), command << " has no " << option);
  }
  CHECK(commands.size() == kCommands.size());  // each is presented
}

TEST_CASE("E-04: options that stand alone in the README belong to some command or script") {
  std::set<std::string> all = {"--full", "--help"};  // tools/test.sh --full
  for (const auto& [command, options] : known_options()) all.insert(options.begin(), options.end());
  int count = 0;
  for (const std::string& line : lines_of(readme())) {
    if (contains(line, "cmake") || contains(line, "tensorboard --")) continue;  // their own options
    for (const std::string& option : options_in(line)) {
      CHECK_MESSAGE(all.contains(option), option);
      ++count;
    }
  }
  CHECK(count > 10);
}

TEST_CASE("E-04: the presets that the README lists are those of --help") {
  const Desk desk;
  const std::string help = desk.run("train --help").out, text = readme();
  const std::string start = "Presets: ";
  REQUIRE(contains(text, start));
  const std::string line =
      text.substr(text.find(start), text.find('\n', text.find(start)) - text.find(start));
  const std::regex name("`([a-z-]+)`");
  int count = 0;
  for (std::sregex_iterator it(line.begin(), line.end(), name), end; it != end; ++it, ++count)
    CHECK_MESSAGE(contains(help, (*it)[1].str() + ": "), (*it)[1].str());
  CHECK(count == 4);
}

TEST_CASE("E-02: the names recipe has 4,192 parameters for 26 letters, as the README says") {
  REQUIRE(contains(readme(), "4,192 parameters"));
  const Desk desk;
  desk.write("t.txt", "abcdefghijklm\nnopqrstuvwxyz\nabc\nxyz\nmno\nabc\nxyz\nmno\nabc\nxyz\n");
  const Outcome run = desk.run("train --preset names --data t.txt --out m --steps 1 --eval-batches 1");
  CHECK_MESSAGE(run.code == 0, run.text());
  CHECK(contains(run.out, ": 4192 parameters"));
}

}  // namespace
}  // namespace minigpt::test
