// The zoo of faults: each is documented in both languages, changes what it says it changes, leaves no trace when it is taken
// out, and can be diagnosed.

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/tools/run_command.h"
#include "tools/zoo/answer.h"
#include "tools/zoo/task.h"

namespace minigpt::test {
namespace {

using Json = nlohmann::ordered_json;
using zoo::Mutant;

bool any_wrong(const zoo::Inspection& found) {
  return found.see_the_future.value_or(0) > 0 || std::any_of(found.slopes.begin(), found.slopes.end(),
                                                             [](const zoo::Slope& s) { return s.wrong > 0; });
}

// Losses and gradient norms of a few steps.
std::vector<double> numbers_of(const Mutant& m, bool planted) {
  TrainConfig config = zoo::small_run();
  config.model.block_size = 8;
  config.model.n_embd = 8;
  config.batch_size = 2;
  config.steps = 3;
  config.lr_decay_steps = 3;
  config.warmup_steps = 1;
  config.eval_batches = 1;
  std::u32string text;
  for (int i = 0; i < 400; ++i) text += U"abcdefghij"[i * i % 11 % 10];
  std::vector<double> numbers;
  for (const zoo::TrainStep& s : zoo::train(m, planted, config, text).steps) {
    numbers.push_back(s.loss);
    numbers.push_back(s.grad_norm);
  }
  return numbers;
}

TEST_CASE("zoo: every fault is told in both languages, and no title gives its operation away") {
  std::set<std::string> titles;
  for (const Mutant* m : zoo::mutants()) {
    CAPTURE(std::string(m->title.en));
    for (const char* text :
         {m->title.en, m->title.zh, m->right, m->wrong, m->find.en, m->find.zh, m->names, m->fault})
      CHECK_FALSE(std::string_view(text).empty());
    const auto foreign = [](std::string_view text) {
      return std::any_of(text.begin(), text.end(),
                         [](char c) { return static_cast<unsigned char>(c) >= 128; });
    };
    CHECK_FALSE(foreign(m->title.en));
    CHECK_FALSE(foreign(m->find.en));
    CHECK(foreign(m->title.zh));
    CHECK(foreign(m->find.zh));
    CHECK(titles.insert(m->title.en).second);
    CHECK((m->backward != nullptr) != (m->forward != nullptr));
    CHECK_FALSE(zoo::judge(*m, m->title.en).right());
    CHECK_FALSE(zoo::judge(*m, m->title.zh).right());
    for (const std::string& op : words_of(m->at))
      CHECK_FALSE(contains(" " + std::string(m->title.en) + " ", " " + op + " "));
  }
  CHECK(zoo::mutants().size() >= 36);
}

TEST_CASE("zoo: every fault changes what a training run computes, and nothing once it is gone") {
  for (std::size_t i = 0; i < zoo::mutants().size(); ++i) {
    const Mutant& m = *zoo::mutants()[i];
    CAPTURE(i + 1);
    CAPTURE(std::string(m.wrong));
    const std::vector<double> healthy = numbers_of(m, false), faulty = numbers_of(m, true);
    CHECK(healthy != faulty);
    CHECK(numbers_of(m, false) == healthy);
  }
}

TEST_CASE("zoo: every fault is found, by finite differences, by the look at the future, or in the weights") {
  // Right gradients of a wrong function, without a look at the future: nothing but the numbers themselves shows it.
  int unseen = 0;
  for (std::size_t i = 0; i < zoo::mutants().size(); ++i) {
    const Mutant& m = *zoo::mutants()[i];
    CAPTURE(i + 1);
    CAPTURE(std::string(m.wrong));
    CHECK_FALSE(any_wrong(zoo::inspect(m, false, 6, 1337)));
    const bool found = any_wrong(zoo::inspect(m, true, 24, 1337));
    if (m.backward) CHECK(found);
    unseen += !found;
  }
  CHECK(unseen <= 1);
}

TEST_CASE("zoo: diagnoses in free words") {
  const auto number_of = [](std::string_view wrong) {
    for (const Mutant* m : zoo::mutants())
      if (m->wrong == wrong) return m;
    FAIL("there is no such fault: " << wrong);
    return zoo::mutants()[0];
  };
  const Mutant& softmax = *number_of("dx = y * (1 - y) * dy");
  CHECK(zoo::judge(softmax, "softmax: diagonal of the Jacobian only").right());
  CHECK(zoo::judge(softmax, "SOFTMAX, off-diagonal terms are missing").right());
  CHECK(zoo::judge(softmax, "softmax 只有对角线").right());
  CHECK(zoo::judge(softmax, "softmax").operation);
  CHECK_FALSE(zoo::judge(softmax, "softmax").right());
  CHECK_FALSE(zoo::judge(softmax, "log_softmax diagonal").operation);
  CHECK_FALSE(zoo::judge(softmax, "layer_norm diagonal").operation);
  const Mutant& norm = *number_of("dx = (g - h * mean(g * h)) / std");
  CHECK(zoo::judge(norm, "layer_norm mean term missing").right());
  CHECK(zoo::judge(norm, "LayerNorm: the first mean was dropped").right());
  CHECK(zoo::judge(norm, "层归一化少了均值项").right());
  CHECK(zoo::judge(norm, "the sign of the layer norm").operation);
  CHECK_FALSE(zoo::judge(norm, "the sign of the layer norm").right());
  const Mutant& logarithm = *number_of("dx = dy / y = dy / ln x");
  CHECK(zoo::judge(logarithm, "log uses its output instead of its input").right());
  CHECK_FALSE(zoo::judge(logarithm, "log_softmax uses its output").operation);
  CHECK_FALSE(zoo::judge(logarithm, "exp log sqrt pow div sub mul: input for output").right());
}

TEST_CASE("zoo: the answer to every fault, as it is written down, counts as right") {
  for (const Mutant* m : zoo::mutants()) {
    const std::string_view names = m->names, fault = m->fault;
    const std::string name(names.substr(0, names.find('|'))),
        word(fault.substr(0, fault.find_first_of("|&")));
    CAPTURE(name);
    CAPTURE(word);
    CHECK(zoo::judge(*m, name + ": " + word).right());
    CHECK_FALSE(zoo::judge(*m, name).right());
    CHECK_FALSE(zoo::judge(*m, "I do not know").right());
  }
}

TEST_CASE("zoo list: numbers and titles; answers only when asked for") {
  const Desk desk;
  const Outcome plain = desk.run("zoo list"), answers = desk.run("zoo list --answers --lang zh");
  REQUIRE_MESSAGE(plain.code == 0, plain.text());
  CHECK(lines_of(plain.out).size() >= zoo::mutants().size());
  for (const Mutant* m : zoo::mutants()) {
    CHECK(contains(plain.out, m->title.en));
    CHECK_FALSE(contains(plain.out, m->find.en));
    CHECK(contains(answers.out, m->find.zh));
  }
  const Json list = Json::parse(desk.run("zoo list --json").out)["faults"];
  REQUIRE(list.size() == zoo::mutants().size());
  CHECK(list[0].size() == 3);
  CHECK(list[0]["number"] == 1);
  CHECK(Json::parse(desk.run("zoo list --json --answers").out)["faults"][0]["wrong"] ==
        zoo::mutants()[0]->wrong);
}

TEST_CASE("zoo start: the run without and with the fault, from one seed, and no file") {
  const Desk desk;
  desk.write("t.txt", english_text());
  const std::string line =
      "zoo start 1 --data t.txt --steps 12 --channels 16 --block 16 --batch 2 --eval-batches 1 --threads 1";
  const Outcome run = desk.run(line);
  REQUIRE_MESSAGE(run.code == 0, run.text());
  CHECK(contains(run.out, "healthy"));
  CHECK(contains(run.out, "minigpt zoo check 1"));
  CHECK(std::distance(std::filesystem::directory_iterator(desk.path()), {}) == 1);
  const Json object = Json::parse(desk.run(line + " --json").out);
  CHECK(object["number"] == 1);
  CHECK(object["healthy"]["steps"].size() == 12);
  CHECK(object["healthy"]["steps"] != object["fault"]["steps"]);
}

TEST_CASE("zoo gradcheck: wrong with the fault, right without") {
  const Desk desk;
  const Outcome faulty = desk.run("zoo gradcheck 1 --elements 8 --threads 1");
  CHECK(faulty.code == 1);
  CHECK(contains(faulty.out, "WRONG"));
  CHECK(contains(faulty.out, "A fault spoils whatever lies before it"));
  CHECK_FALSE(contains(desk.run("zoo gradcheck 1 --healthy --elements 8 --threads 1").out, "A fault spoils"));
  const Outcome healthy = desk.run("zoo gradcheck 1 --healthy --elements 8 --threads 1 --json");
  REQUIRE_MESSAGE(healthy.code == 0, healthy.text());
  const Json object = Json::parse(healthy.out);
  CHECK(object["ok"] == true);
  CHECK(object["parameters"].size() > 10);
}

TEST_CASE("zoo check: right, partly right and wrong, in the exit code and in words") {
  const Desk desk;
  const Mutant& m = zoo::mutant(1);
  const std::string name(std::string_view(m.names).substr(0, std::string_view(m.names).find('|')));
  const std::string word(std::string_view(m.fault).substr(0, std::string_view(m.fault).find('|')));
  const Outcome right = desk.run("zoo check 1", {name + ", " + word});
  CHECK_MESSAGE(right.code == 0, right.text());
  CHECK(contains(right.out, m.right));
  CHECK(contains(right.out, m.find.en));
  const Outcome partly = desk.run("zoo check 1", {name});
  CHECK(partly.code == 1);
  CHECK(contains(partly.out, "Partly right"));
  const Outcome wrong = desk.run("zoo check 1 no idea");
  CHECK(wrong.code == 1);
  CHECK(contains(wrong.out, "Wrong"));
  CHECK_FALSE(contains(wrong.out, m.right));
  const Json object = Json::parse(desk.run("zoo check 1 --json", {name}).out);
  CHECK(object["operation"] == true);
  CHECK(object["right"] == false);
  CHECK_FALSE(object.contains("wrong"));
}

TEST_CASE("zoo: bad arguments are one line and exit code 2") {
  const Desk desk;
  const std::string last = std::to_string(zoo::mutants().size());
  for (const char* command : {"zoo start ", "zoo gradcheck "}) {
    check_refused(desk, command + std::string("0"), "out of range (1 to " + last + ")");
    check_refused(desk, command + std::string("999"), "out of range (1 to " + last + ")");
    check_refused(desk, command + std::string("softmax"), "'softmax' is not a whole number");
    check_refused(desk, command, "needs the number of a fault");
  }
  check_refused(desk, "zoo check 0 softmax", "out of range");
  check_refused(desk, "zoo check 1", "needs your diagnosis");
  check_refused(desk, "zoo", "needs one of");
  check_refused(desk, "zoo list --lang fr", "--lang: 'fr' is not one of en | zh");
  check_refused(desk, "zoo start 1 --data missing.txt", "missing.txt");
}

}  // namespace
}  // namespace minigpt::test
