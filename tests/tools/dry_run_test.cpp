// `--dry-run`: everything is read and checked, nothing is computed or written.

#include <filesystem>

#include "tests/tools/run_command.h"

namespace minigpt::test {
namespace {

const std::string kCommands[] = {
    "train --data english.txt --out new",
    "train --resume --out model",
    "sample --model model",
    "eval --model model --data english.txt",
    "ngram --data english.txt",
    "gradcheck",
    "graph --model model --out graph.txt",
    "heads --model model --text english.txt",
    "why --model model --data english.txt --tensor lm_head.weight",
    "inspect --model model --data english.txt --json",
    "info --model model",
    "lesson simple-attention --figures figures/new",
    "zoo list",
    "zoo start 1 --data english.txt",
    "zoo gradcheck 1",
    "zoo check 1 softmax",
    "bench train --data english.txt",
    "bench matmul",
};

TEST_CASE("dry run: a good command line is said to be good, and leaves no file") {
  Desk desk;
  desk.write("english.txt", english_text());
  desk.copy_from(trained_desk(), "model");
  const auto names = [&] {
    std::vector<std::string> list;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(desk.path()))
      list.push_back(entry.path().string());
    std::sort(list.begin(), list.end());
    return list;
  };
  const std::vector<std::string> before = names();
  for (const std::string& line : kCommands) {
    const Outcome run = desk.run(line + " --dry-run");
    CAPTURE(line);
    CAPTURE(run.text());
    CHECK(run.code == 0);
    CHECK(run.out == "nothing is wrong with these arguments and files\n");
    CHECK(names() == before);
  }
}

TEST_CASE("dry run: what the command would refuse is refused") {
  const Desk& desk = trained_desk();
  check_refused(desk, "train --dry-run --data missing.txt --out new", "missing.txt: no such file");
  check_refused(desk, "train --dry-run --data english.txt --out model", "already holds a model");
  check_refused(desk, "train --dry-run --data english.txt --steps x --out new", "--steps");
  check_refused(desk, "sample --dry-run --model model --prompt ~", "not in the vocabulary");
  check_refused(desk, "ngram --dry-run --data english.txt --order 99", "--order");
  check_refused(desk, "lesson --dry-run nonsense", "nonsense");
  check_refused(desk, "lesson --dry-run 9 --text missing.txt", "missing.txt: no such file");
  check_refused(desk, "lesson --dry-run heat-map --model missing", "missing: no such folder");
  check_refused(desk, "lesson --dry-run 9 --figures english.txt",
                "english.txt: exists and is not a directory");
  check_refused(desk, "lesson --dry-run 9 --figures english.txt/new",
                "english.txt/new: can't create the directory: english.txt: exists and is not a directory");
  check_refused(desk, "why --dry-run --model model --data english.txt --tensor nope", "no parameter 'nope'");
  check_refused(desk, "why --dry-run --model model --data english.txt --tensor lm_head.weight --index 999,0",
                "is outside the shape");
  const Desk own;
  own.copy_from(desk, "model");
  own.write("other.txt", "the \u00e9 and ~\n");
  check_refused(own, "eval --dry-run --model model --data other.txt", "other.txt: character");
  RunOptions bare;
  bare.environment = {"PATH=/nowhere"};  // without Graphviz
  const Outcome graph = own.run("graph --dry-run --model model --format svg", bare);
  CHECK(graph.code == 2);
  CHECK(contains(graph.err, "needs Graphviz's program dot"));
}

}  // namespace
}  // namespace minigpt::test
